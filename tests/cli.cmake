add_executable(test_lmu_asr cli/test_lmu_asr.c)
target_link_libraries(test_lmu_asr gr_exec gr_compiler gr_compose)
target_compile_definitions(test_lmu_asr PRIVATE GR_SOURCE="${CMAKE_SOURCE_DIR}")
add_test(NAME cli.lmu_asr COMMAND test_lmu_asr)
