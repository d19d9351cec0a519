// importance.c - how much of the values each parameter explains. See search.h.
#include <math.h>
#include "search/parts.h"

enum { MAX_BINS = 8, LEAST_TRIALS = 8 };

// The ranks of n numbers from 0; equal ones share their mean rank.
static double *ranks_of(gr_arena *a, const double *x, int n) {
  double *rank = GR_NEW(a, double, n + 1);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) rank[i] += x[k] < x[i] ? 1 : x[k] == x[i] && k != i ? 0.5 : 0;
  return rank;
}

static int bins_of(const gr_parameter *p, int n) {
  int root = (int)sqrt((double)n);
  if (p->kind == GR_PARAMETER_CHOICE) return gr_parameter_choices(p);
  return root < 2 ? 2 : root > MAX_BINS ? MAX_BINS : root;
}

// Sums of the variance of y: between bins, within bins, and how many bins have trials.
static double explained(gr_arena *a, const int *bin, const double *y, int n, int bins) {
  double *sum = GR_NEW(a, double, bins), mean = (n - 1) / 2.0, between = 0, total = 0;
  int *count = GR_NEW(a, int, bins), used = 0;
  for (int i = 0; i < n; i++) {
    sum[bin[i]] += y[i] - mean, count[bin[i]]++;
    total += (y[i] - mean) * (y[i] - mean);
  }
  for (int b = 0; b < bins; b++)
    if (count[b]) between += sum[b] * sum[b] / count[b], used++;
  if (used < 2 || used >= n || !(total > 0)) return NAN;
  double unbiased = 1 - (total - between) / total * (n - 1) / (n - used);
  return unbiased > 0 ? unbiased : 0;
}

static double importance(gr_arena *a, const gr_parameter *p, const double *x, const double *y,
                         int n) {
  int bins = bins_of(p, n), *bin = GR_NEW(a, int, n + 1);
  const double *rank = ranks_of(a, x, n);
  for (int i = 0; i < n; i++)
    bin[i] = p->kind == GR_PARAMETER_CHOICE ? (int)x[i] : (int)(rank[i] * bins / n);
  return explained(a, bin, y, n, bins);
}

void gr_search_importance(gr_arena *a, const gr_search *s, const gr_trial *trials, int n,
                          double *out) {
  double *x = GR_NEW(a, double, n + 1), *value = GR_NEW(a, double, n + 1);
  for (int p = 0; p < s->n; p++) {
    int count = 0;
    for (int i = 0; i < n; i++)
      if (!isnan(trials[i].value)) x[count] = trials[i].x[p], value[count++] = trials[i].value;
    const double *y = ranks_of(a, value, count);
    out[p] = count < LEAST_TRIALS ? NAN : importance(a, &s->parameters[p], x, y, count);
  }
}
