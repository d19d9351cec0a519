// restart.h - starts the ranks by graphrun's launcher, and again after one has died or hung.
#pragma once
#include "job/job.h"
#include "runtime/launch/launch.h"

// Starts the ranks of the plan with the command line of the job, at most distributed.max_restarts
// times again: in the same folder, from its newest checkpoint, on as many ranks or fewer, down to
// distributed.min_ranks. *out_exit and the returned status are those of the last start, as of
// gr_launch_run; what ended the others has been printed.
GR_MUST_USE gr_status gr_cli_launch(gr_job *, gr_launch_plan *, int *out_exit);
