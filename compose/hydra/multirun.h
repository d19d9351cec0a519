// multirun.h - the runs of a sweep: all combinations of the values that arguments give.
#pragma once
#include "compose/compose.h"

typedef struct gr_job_list {
  gr_composed base;  // the configuration without what is swept, as Hydra writes to multirun.yaml
  const char ***overrides;  // n lists of n_all arguments each
  int n, n_each,
      n_all;  // the first n_each are the user's; the others set hydra.job.num and the like
} gr_job_list;

// Lists the arguments of each run, in Hydra's order: the last sweep varies fastest; sweeps of
// hydra.sweeper.params come first. Fails for intervals, and for more than 10,000 runs.
GR_MUST_USE gr_status gr_multirun_list(gr_arena *, const gr_compose_request *, gr_job_list *out);
