// multirun.h - `graphrun -m CONFIG key=1,2 ...`: one run for each combination of a sweep.
#pragma once
#include "cli/args.h"

// The whole command line. Runs `graphrun CONFIG ...` for each job, --jobs N at
// a time, each with its own output.dir below hydra.sweep.dir; --dry-run only lists them. Fails
// when a run failed, after all have ended.
GR_MUST_USE gr_status gr_cli_multirun(int argc, char **argv);

// The flags of a sweep, counted from 0; false beyond the last.
bool gr_multirun_flag(int i, gr_flag *out);
