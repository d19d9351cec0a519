// halving.c - which trials go on past a rung. See search.h.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "base/sort.h"
#include "search/search.h"

int64_t gr_halving_resource(const gr_halving *h, int rung) {
  assert(rung >= 0 && h->min_resource > 0 && h->reduction_factor > 1);
  int64_t resource = h->min_resource;
  for (int64_t i = 0; i < rung + h->min_early_stopping_rate; i++) {
    if (resource > GR_HALVING_MAX / h->reduction_factor) return 0;
    resource *= h->reduction_factor;
  }
  return resource;
}

// With its own value a trial is one of n + 1, of which (n + 1) / reduction_factor go on, at least
// one: it goes on if no more than that many, less itself, are better.
double gr_halving_bar(const gr_halving *h, double *values, int n, bool max) {
  int64_t best = (n + 1) / h->reduction_factor;
  int i = best > 1 ? (int)best - 1 : 0;
  if (i >= n) return (double)NAN;
  qsort(values, (size_t)n, sizeof *values, gr_order_numbers);
  return values[max ? n - 1 - i : i];
}
