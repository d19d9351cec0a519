// multirun.h - the runs of a sweep: all combinations of the values that arguments give, or those
// that a search chooses.
#pragma once
#include "compose/compose.h"
#include "compose/override/override.h"

// An argument of a sweep.
typedef struct gr_sweep_axis {
  const char *element;    // "training.lr"
  const gr_sweep *sweep;  // NULL: the argument is no sweep, and is the only one of `lines`
  const gr_conf *values;  // of a sweep: their list; NULL: an interval, which has none
  const char **lines;     // an argument for each value
  int n;
  gr_loc loc;  // of the value
} gr_sweep_axis;

typedef struct gr_sweep_axes {
  gr_composed base;  // the configuration without what is swept, as Hydra writes to multirun.yaml
  gr_sweep_axis *list;
  int n;
} gr_sweep_axes;

typedef struct gr_job_list {
  gr_composed base;
  const char ***overrides;  // n lists of n_all arguments each
  int n, n_each,
      n_all;  // the first n_each are the user's; the others set hydra.job.num and the like
} gr_job_list;

enum { GR_MULTIRUN_MAX = 10000 };  // runs

// Reads the sweeps of arguments, after those of hydra.sweeper.params. A later one for the same key
// replaces an earlier one.
GR_MUST_USE gr_status gr_multirun_axes(gr_arena *, const gr_compose_request *, gr_sweep_axes *out);
// How many arguments a run has.
int gr_multirun_width(const gr_sweep_axes *);
// These arguments, of run `number`: `lines`, one of each axis, and those that set hydra.job.num and
// the like.
const char **gr_multirun_job(gr_arena *, const gr_sweep_axes *, const char *const *lines,
                             int number);

// Lists the arguments of each run of all combinations, in Hydra's order: the last sweep varies
// fastest. Fails for intervals, and for more than 10,000 runs.
GR_MUST_USE gr_status gr_multirun_all(gr_arena *, const gr_sweep_axes *, gr_job_list *out);
// gr_multirun_axes and gr_multirun_all.
GR_MUST_USE gr_status gr_multirun_list(gr_arena *, const gr_compose_request *, gr_job_list *out);
