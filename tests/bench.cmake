# Timings, for people; nothing here is a test. `cmake --build build --target bench` runs them.
add_executable(bench_lmu EXCLUDE_FROM_ALL bench/bench_lmu.c)
target_link_libraries(bench_lmu gr_exec gr_compiler gr_compose)
add_executable(bench_gemm EXCLUDE_FROM_ALL bench/bench_gemm.c)
target_link_libraries(bench_gemm gr_ops)
add_executable(bench_comm EXCLUDE_FROM_ALL bench/bench_comm.c)
target_link_libraries(bench_comm gr_exec gr_dep_MPI)
add_custom_target(bench COMMAND ${CMAKE_SOURCE_DIR}/tools/bench USES_TERMINAL)
