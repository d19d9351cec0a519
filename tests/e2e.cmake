# The program from outside: whole runs, stops, resumes and bad input, on data made by make_tones.
add_executable(make_tones e2e/make_tones.c)
target_link_libraries(make_tones m)
add_executable(wait_lines e2e/wait_lines.c)
add_dependencies(make_tones wait_lines)  # lib.sh finds it beside that
add_executable(make_mp4 e2e/make_mp4.c)
target_link_libraries(make_mp4 mp4)
add_library(jump MODULE e2e/jump.c)
set(e2e_tests comparisons report runs verdict outputs cut contract narrow
  ranks launchers links loop compat launch device mesh sharding optimizers resume checkpoints stops watchdog failing evaluation
  results progress surroundings folders hooks hook_events hook_set bad_input bad_data mistakes damaged init_from lora torch order commands modules keys precision table table_mistakes trace
  json buffers programs verbs install new new_kinds new_layouts new_arrays new_texts ema freeze text video mp4 har metrics market ppo paths identity memory onnx version debugger picture search whisper labels one_hot generate package_root parquet teacher recompute nonfinite replay text_metrics check plans whisper_ranks whisper_stops texts overlap buckets canonical mixed_rows left_out ids masks joined recordings archives new_speech)
foreach(test ${e2e_tests})
  add_test(NAME e2e.${test} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${test}.sh
    $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones> $<TARGET_FILE:jump> $<TARGET_FILE:make_mp4>)
endforeach()
foreach(kind deb tar wheel)
  add_test(NAME e2e.package_${kind} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/e2e/package.sh
    $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones> ${kind})
  list(APPEND e2e_tests package_${kind})
endforeach()
# What ran is in a file of its name.
foreach(test ${e2e_tests})
  set_tests_properties(e2e.${test} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "GRAPHRUN_RAN=${CMAKE_BINARY_DIR}/tests/ran/e2e.${test}")
endforeach()
# A command that fails leaves its memory to the system, for the places that its error names; and
# MPI leaves some when it is not shut down.
list(REMOVE_ITEM e2e_tests loop)
foreach(test ${e2e_tests})
  set_property(TEST e2e.${test} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endforeach()
# A few cases of tools/same-bytes, with one program as both: they train, and runs repeat.
add_test(NAME tools.same_bytes COMMAND ${CMAKE_SOURCE_DIR}/tools/same-bytes $<TARGET_FILE:graphrun> $<TARGET_FILE:graphrun>
  "^(series[.]one|zero2[.]3|configs[.](table|video[.]cnn3d_3m|whisper[.]nano)[.])")
set_tests_properties(tools.same_bytes PROPERTIES PASS_REGULAR_EXPRESSION "^10 equal, 0 different, 0 refused by both")
