add_library(test_exec_collectives runtime/exec/collectives.c)
target_compile_options(test_exec_collectives PRIVATE -O2)  # makes and compares every number of every collective
target_link_libraries(test_exec_collectives PUBLIC gr_exec)
foreach(test pool loopback mpi net store store_keys store_own tcp death trace)
  add_executable(test_${test} runtime/exec/test_${test}.c)
  target_link_libraries(test_${test} test_exec_collectives)
  add_test(NAME exec.${test} COMMAND test_${test})
endforeach()
target_link_options(test_store_own PRIVATE -Wl,--wrap=poll)  # by which the server stands still
target_link_options(test_net PRIVATE -Wl,--wrap=getaddrinfo)  # of a name with two addresses
target_link_libraries(test_mpi gr_dep_MPI)  # its header, for the fields of a communicator
# Processes die here, and MPI itself leaves memory behind.
set_tests_properties(exec.mpi PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

add_executable(test_launch_dir runtime/launch/test_dir.c)
target_link_libraries(test_launch_dir gr_exec)
add_test(NAME launch.dir COMMAND test_launch_dir)
add_executable(test_launch_watchdog runtime/launch/test_watchdog.c)
target_link_libraries(test_launch_watchdog gr_exec)
add_test(NAME launch.watchdog COMMAND test_launch_watchdog)

foreach(test exec loops beside)
  add_executable(test_${test} runtime/exec/test_${test}.c)
  target_link_libraries(test_${test} gr_exec gr_compiler)
  add_test(NAME exec.${test} COMMAND test_${test})
endforeach()
# Allocations are counted.
target_link_options(test_loops PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
                    -Wl,--wrap=aligned_alloc)

add_executable(bench_exec runtime/exec/bench_exec.c)
target_link_libraries(bench_exec gr_exec gr_compiler)
