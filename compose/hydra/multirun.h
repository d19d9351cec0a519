// multirun.h - the runs of a sweep: every combination of the values that arguments give.
#pragma once
#include "compose/compose.h"

typedef struct gr_job_list {
  const char ***overrides;  // n lists of n_all arguments, of which n_each are the user's
  int n, n_each, n_all;     // the others say which run of the sweep it is
} gr_job_list;

// The arguments of each run, in Hydra's order: the last sweep varies fastest; sweeps of
// hydra.sweeper.params come first. Fails on intervals, and beyond 10,000 runs.
GR_MUST_USE gr_status gr_multirun_list(gr_arena *, const gr_compose_request *, gr_job_list *out);
