add_executable(test_search search/test_search.c)
target_link_libraries(test_search gr_search)
add_test(NAME search COMMAND test_search)
# PyPI's optuna may be absent: then the comparison says so and is skipped.
add_test(NAME search.optuna COMMAND ${GR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/bench/bench_search_optuna.py
  $<TARGET_FILE:test_search>)
set_tests_properties(search.optuna PROPERTIES SKIP_RETURN_CODE 77)
