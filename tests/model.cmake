add_executable(test_model model/test_model.c)
target_link_libraries(test_model PRIVATE gr_compiler)
target_compile_definitions(test_model PRIVATE GR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_test(NAME model.build COMMAND test_model)
