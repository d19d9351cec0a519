// scaling.h - what a configuration is predicted to take on other numbers of ranks, other devices
// and with other strategies, each planned without them.
#pragma once
#include "job/figures.h"

typedef struct gr_scaling {
  const int *ranks;  // n_ranks, which ascend
  int n_ranks;
  const gr_target *targets;  // n_targets
  int n_targets;
  const char *const *strategies;  // n_strategies; NULL: that of the configuration
  int n_strategies;
} gr_scaling;

typedef struct gr_scaled {
  const gr_target *target;
  const char *strategy;
  int ranks;
  const char *why;        // it cannot be planned; NULL: it is
  double bytes, room;     // of a rank's memory: what is needed and what is left; NaN: not known
  gr_predicted step;      // in seconds, on average
  double samples;         // a second; NaN: the data have none
  double up, efficiency;  // over the first of its device and strategy that is planned
  double epoch, cost;     // seconds, and the price; NaN: not known
} gr_scaled;

// Plans all, by device, strategy and ranks: n_targets x n_strategies x n_ranks rows, in the job's
// arena. Fails where none can be planned. Called after gr_job_compose, with --dump and such left
// out.
GR_MUST_USE gr_status gr_job_scale(gr_job *, const gr_scaling *, gr_scaled **out, int *n);
