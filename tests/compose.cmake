# Composition: unit tests, recorded results, broken files.
set(GR_RECORDED ${CMAKE_SOURCE_DIR}/../shared/conformance/hydra)
add_executable(test_conformance compose/conformance.c compose/json_read.c compose/parsed.c)
target_include_directories(test_conformance PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/compose)
target_link_libraries(test_conformance PRIVATE gr_compose)
add_test(NAME compose.conformance COMMAND test_conformance ${GR_RECORDED} ${CMAKE_CURRENT_BINARY_DIR})
add_test(NAME compose.recorded COMMAND test_conformance ${CMAKE_CURRENT_SOURCE_DIR}/compose/recorded
                                       ${CMAKE_CURRENT_BINARY_DIR}/recorded)

add_executable(test_config_bad compose/broken.c)
target_link_libraries(test_config_bad PRIVATE gr_cli)
add_test(NAME compose.broken COMMAND test_config_bad ${CMAKE_CURRENT_SOURCE_DIR}/compose)

foreach(test completion json_schema)
  add_test(NAME compose.${test}
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/base/python_or_skip.sh
                   ${CMAKE_CURRENT_SOURCE_DIR}/compose/${test}.py $<TARGET_FILE:graphrun>)
endforeach()

add_test(NAME compose.sweep COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/compose/sweep.sh
  $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)

add_executable(test_compose compose/unit.c)
target_link_libraries(test_compose PRIVATE gr_compose)
add_test(NAME compose.unit COMMAND test_compose)
add_executable(test_schema_doc compose/doc.c compose/json_read.c)
target_include_directories(test_schema_doc PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/compose)
target_link_libraries(test_schema_doc PRIVATE gr_compose)
add_test(NAME compose.schema_doc COMMAND test_schema_doc)
add_executable(test_emit compose/emit.c)
target_link_libraries(test_emit PRIVATE gr_compose)
add_test(NAME compose.emit COMMAND test_emit ${CMAKE_CURRENT_SOURCE_DIR}/golden)
add_executable(test_searchpath compose/searchpath.c)
target_link_libraries(test_searchpath PRIVATE gr_compose)
add_test(NAME compose.searchpath COMMAND test_searchpath)
add_executable(test_show compose/show.c)
target_link_libraries(test_show PRIVATE gr_compose)
add_test(NAME compose.show COMMAND test_show)
add_executable(test_foreign compose/foreign.c)
target_link_libraries(test_foreign PRIVATE gr_compose)
add_test(NAME compose.foreign COMMAND test_foreign)
add_executable(test_compat compose/compat.c)
target_link_libraries(test_compat PRIVATE gr_compose)
add_test(NAME compose.compat COMMAND test_compat)
add_executable(test_compose_pack compose/pack.c)
target_link_libraries(test_compose_pack PRIVATE gr_compose)
add_test(NAME compose.pack COMMAND test_compose_pack)
add_executable(test_identity_keys compose/identity_keys.c)
target_link_libraries(test_identity_keys PRIVATE gr_compose)
add_test(NAME compose.identity_keys COMMAND test_identity_keys)

# Replays a corpus, and mutants of it, without libFuzzer.
add_library(fuzz_replay OBJECT fuzz/replay.c fuzz/meter.c)
target_link_libraries(fuzz_replay PRIVATE gr_compose)
# Fuzz targets: with -DGR_FUZZ=ON and clang they search, otherwise they replay their corpora.
foreach(target yaml override interp compose plan)
  if(GR_FUZZ)
    add_executable(fuzz_${target} fuzz/fuzz_${target}.c)
    target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(fuzz_${target} fuzz/fuzz_${target}.c $<TARGET_OBJECTS:fuzz_replay>)
    add_test(NAME compose.fuzz_${target}
             COMMAND fuzz_${target} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${target})
  endif()
  target_link_libraries(fuzz_${target} PRIVATE gr_compose)
endforeach()

target_link_libraries(fuzz_plan PRIVATE gr_job)
