# Ranks: threads, communicators, the launcher, and running plans.
add_library(gr_exec cpu.c comm.c comm_same.c comm_sum.c comm_meet.c comm_shared.c comm_pages.c comm_loopback.c launch.c
            launch_begin.c launch_death.c launch_dir.c launch_env.c launch_run.c launch_watch.c exec.c exec_frame.c exec_loop.c exec_profile.c)
target_link_libraries(gr_exec PUBLIC gr_ops)
gr_module(gr_exec MPI mpi "comm_mpi.c;comm_mpi_far.c;comm_mpi_names.c" gr_shared_join gr_shared_run gr_comm_sum gr_pages_make)
# A sanitiser would have to be loaded before it.
if(TARGET graphrun_mpi AND NOT GR_SANITIZE)
  add_library(graphrun_local MODULE launch_local.c)
  set_target_properties(graphrun_local PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  add_dependencies(gr_exec graphrun_local)
else()
  file(REMOVE ${CMAKE_BINARY_DIR}/graphrun_local.so)  # of a build with it
endif()
