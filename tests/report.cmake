add_executable(test_report runtime/report/test_report.c)
target_link_libraries(test_report gr_report)
add_test(NAME report.files COMMAND test_report)
add_executable(test_events runtime/report/test_events.c)
target_link_libraries(test_events gr_report)
target_compile_definitions(test_events PRIVATE
  READ_EVENTS="${CMAKE_CURRENT_SOURCE_DIR}/report/read_events.py")
add_test(NAME report.events COMMAND test_events)
