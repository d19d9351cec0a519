add_executable(test_base base/test_base.c)
target_link_libraries(test_base gr_base)
add_test(NAME base COMMAND test_base)
add_executable(test_base_tasks base/test_tasks.c)
target_link_libraries(test_base_tasks gr_base)
add_test(NAME base.tasks COMMAND test_base_tasks)
add_executable(test_base_file base/test_file.c)
target_link_libraries(test_base_file gr_base)
add_test(NAME base.file COMMAND test_base_file)
add_executable(test_base_json base/test_json.c)
target_link_libraries(test_base_json gr_base)
add_test(NAME base.json COMMAND test_base_json)

# What tools/ checks of the tree itself; without Python they cannot run, and say so.
find_program(GR_PYTHON python3)
foreach(check layers style)
  add_test(NAME tools.${check}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/base/python_or_skip.sh ${CMAKE_SOURCE_DIR}/tools/${check}.py)
endforeach()
