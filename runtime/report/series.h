// series.h - reads the values that a run has logged: metrics.jsonl, evals.jsonl, epochs.jsonl.
#pragma once
#include "base/arena.h"

typedef struct gr_series {
  const char *key;  // "loss", "validation.accuracy"
  double *x, *y;    // completed steps, and the value
  int n, room;
} gr_series;

typedef struct gr_series_list {
  gr_series *items;
  int n, room;
} gr_series_list;

// All values of a run's folder, by key. A key that several files have is read from the first of
// those above. An incomplete last line, of a run that is still writing, is ignored. Everything is
// in the arena. GR_ERR_DATA if the folder has none of the files, or a line is no JSON object.
GR_MUST_USE gr_status gr_series_read(gr_arena *, const char *run, gr_series_list *out);
const gr_series *gr_series_find(const gr_series_list *, const char *key);  // NULL: there is none
// The median of the finite values after the first tenth, in which caches fill: of samples_per_s the
// speed of a run. NaN: there are too few.
double gr_series_steady(gr_arena *, const gr_series *);
