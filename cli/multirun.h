// multirun.h - `graphrun -m CONFIG key=1,2 ...`: one run per combination of a sweep's values.
#pragma once
#include "job/args.h"

// Flags of `graphrun train` that are about its runs together.
typedef struct gr_sweep_options {
  bool multirun, dry_run;
  int64_t jobs;  // runs at a time; 0: not given
} gr_sweep_options;

// Takes the whole command line. Runs `graphrun CONFIG ...` for each combination, --jobs N at a
// time, each with its own output.dir below hydra.sweep.dir; --dry-run only lists them. Checks all
// configurations before the first run starts. If a run fails, the others still run, and then this
// fails.
GR_MUST_USE gr_status gr_cli_multirun(int argc, char **argv);
