// eta.c - see eta.h.
#include "runtime/report/eta.h"
#include <assert.h>

void gr_eta_step(gr_eta *e, double now) {
  e->steps++;
  for (int k = 0; k < GR_ETA_MARKS && (int64_t)1 << k <= e->steps; k++)
    if ((int64_t)1 << k == e->steps) e->mark[k] = now - e->apart;
}

void gr_eta_interrupted(gr_eta *e, gr_eta_kind kind, double seconds, double units) {
  assert(units > 0);
  double *unit = &e->unit[kind], now = seconds / units;
  e->apart += seconds;
  *unit = *unit > 0 ? (*unit + now) / 2 : now;
}

static double seconds_a_step(const gr_eta *e, double now) {
  int k = -1;
  while ((int64_t)2 << (k + 1) <= e->steps) k++;
  return k < 0 ? -1 : (now - e->apart - e->mark[k]) / (double)(e->steps - ((int64_t)1 << k));
}

double gr_eta_left(const gr_eta *e, double now, const gr_eta_rest *rest) {
  double step = seconds_a_step(e, now), left = step * rest->steps;
  if (step < 0) return -1;
  for (int i = 0; i < GR_ETA_KINDS; i++)
    left += rest->units[i] * (e->unit[i] > 0 ? e->unit[i] : step * rest->unit_steps[i]);
  return left;
}
