// start.h - starts the ranks of a command that computes: training and what uses a run's weights.
#pragma once
#include "job/job.h"

// Parses the command line of the command, composes by `compose`, starts the ranks and runs each
// (gr_run_rank). In a process that is a rank this exits instead of returning.
typedef gr_status gr_cli_compose(gr_arena *, const gr_args *, gr_job *);
// Returns the first error; GR_OK when all ranks have ended well.
GR_MUST_USE gr_status gr_cli_start(const gr_command *, int argc, char **argv, gr_cli_compose *);
