# Ranks: threads, communicators, the launcher, and running plans.
add_library(gr_exec cpu.c comm.c comm_same.c comm_sum.c comm_meet.c comm_shared.c comm_pages.c comm_loopback.c launch.c
            launch_begin.c launch_death.c launch_run.c exec.c exec_frame.c exec_loop.c exec_profile.c)
target_link_libraries(gr_exec PUBLIC gr_ops)
gr_module(gr_exec MPI mpi "comm_mpi.c;comm_mpi_far.c;comm_mpi_names.c" gr_shared_join gr_shared_run gr_comm_sum gr_pages_make)
