# Composition: unit tests, recorded results, broken files.
set(GR_RECORDED ${CMAKE_SOURCE_DIR}/../shared/conformance/hydra)
add_executable(test_conformance compose/conformance.c compose/json_read.c)
target_include_directories(test_conformance PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/compose)
target_link_libraries(test_conformance PRIVATE gr_compose)
add_test(NAME compose.conformance COMMAND test_conformance ${GR_RECORDED} ${CMAKE_CURRENT_BINARY_DIR})
add_test(NAME compose.recorded COMMAND test_conformance ${CMAKE_CURRENT_SOURCE_DIR}/compose/recorded
                                       ${CMAKE_CURRENT_BINARY_DIR}/recorded)

add_executable(test_config_bad config/bad.c ${CMAKE_SOURCE_DIR}/cli/config.c
                               ${CMAKE_SOURCE_DIR}/cli/complete.c)
target_link_libraries(test_config_bad PRIVATE gr_compose)
add_test(NAME compose.broken COMMAND test_config_bad ${CMAKE_CURRENT_SOURCE_DIR}/config)
