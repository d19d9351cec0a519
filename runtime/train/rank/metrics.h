// metrics.h - metrics of a step, an epoch or an evaluation: sums over samples, and their weights.
#pragma once
#include "base/arena.h"
#include "runtime/report/report.h"

enum { GR_MAX_METRICS = 64 };

typedef struct gr_metric {
  const char *name;  // "loss", "cer"
  double sum, weight;
} gr_metric;
typedef struct gr_metrics {
  gr_metric items[GR_MAX_METRICS];
  int n;
} gr_metrics;

// Equal names are one pointer, so that comparing addresses is enough.
typedef struct gr_metric_names {
  const char *items[GR_MAX_METRICS];
  int n;
} gr_metric_names;

// The one pointer of a name, which is copied to the arena when it is new.
const char *gr_metric_name(gr_metric_names *, gr_arena *, const char *name);
// The name of a program's metric: those of train and eval have their own, others "PROGRAM.NAME".
const char *gr_run_metric_of(gr_arena *, const char *program, const char *name);
// Adds sums and weights, by names that gr_metric_name has given.
void gr_metrics_add(gr_metrics *sums, const gr_metrics *);
// Of a binary tree over the virtual shards of a rank, of which there are up to 2^10.
enum { GR_SHARD_LEVELS = 11 };
// Adds the k-th of 2^n results in f32 as a binary tree: after the last, levels[n] is the sum of
// all.
void gr_metrics_add_tree(gr_metrics *levels, int k, const gr_metrics *);
double gr_metric_value(const gr_metrics *, const char *name);  // sum / weight; NaN: no such metric
// Whether all samples weigh 0, and none has made the sum anything else: there is no value.
bool gr_metric_is_empty(const gr_metrics *, const char *name);
// Whether there is a metric of that name.
bool gr_metrics_has(const gr_metrics *, const char *name);
// Those whose weight is not 0, named; returns how many.
int gr_metrics_named(gr_arena *, const gr_metrics *, const char *prefix, gr_named *out);
// "NAME VALUE" of each, in `separator` and four decimals.
void gr_metrics_print(gr_text *, const gr_metrics *, const char *separator);
