// runs.h - what the page of a folder shows of its runs.
#pragma once
#include "base/text.h"

typedef struct gr_page_run {  // of a folder
  const char *dir;            // its folder
  const char *label;          // what tells it from the others: "training.lr=1e-3"
  const char *status;         // "done"
  double best, last;          // of the metric; NaN: it has none
  int64_t best_step;
  int64_t ranks;              // 0: not known
  double speed;               // samples a second (gr_series_steady); NaN: not known
  const char *const *values;  // of the keys that differ, as texts
} gr_page_run;
typedef struct gr_page_runs {
  const char *dir, *metric;
  bool max;                 // whether a larger metric is better
  const char *const *keys;  // of configurations, that differ between the runs
  int n_keys;
  const gr_page_run *runs;  // best first
  int n;
} gr_page_runs;
