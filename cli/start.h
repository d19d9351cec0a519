// start.h - starts the ranks of a command that computes: training and what uses a run's weights.
#pragma once
#include "job/job.h"

// Parses the command line of the command, composes by `compose`, starts the ranks and runs each
// (gr_run_rank). In a process that is a rank this exits instead of returning.
typedef gr_status gr_cli_compose(gr_arena *, const gr_args *, gr_job *);
// Returns the first error; GR_OK when all ranks have ended well.
GR_MUST_USE gr_status gr_cli_start(const gr_command *, int argc, char **argv, gr_cli_compose *);
// In a rank that a launcher has started: opens the world of all, by MPI as its rank mpi_rank, or,
// where that is -1, by the store of rank 0, where the job's hash and name tell ranks apart that are
// those of another one. Collective.
GR_MUST_USE gr_status gr_cli_open_world(gr_arena *, int mpi_rank, double timeout, uint64_t job,
                                        const char *job_name, gr_comm **world);
