// sweep.c - lists the values of a sweep. See override.h.
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "compose/override/override.h"

enum { MAX_VALUES = 100000 };

static gr_status too_many(gr_loc loc) {
  return gr_fail(GR_ERR_USAGE, loc, "the sweep has more than %d values", MAX_VALUES);
}

static bool matches(const char *name, const gr_conf *patterns) {
  for (int i = 0; i < patterns->n; i++)
    if (!fnmatch(patterns->items[i]->text, name, FNM_NOESCAPE)) return true;
  return false;
}

static gr_status list_glob(gr_arena *a, const gr_sweep *s, gr_loc loc, const char *const *options,
                           int n, gr_conf *out) {
  for (int i = 0; i < n; i++) {
    if (!matches(options[i], s->list) || matches(options[i], s->exclude)) continue;
    gr_conf_append(a, out, gr_conf_make_text(a, options[i], loc));
  }
  if (out->n) return GR_OK;
  return gr_fail(GR_ERR_USAGE, loc, "no option of the group matches the pattern");
}

// Values are computed from their index, not by repeated addition, so that errors do not accumulate,
// and in decimal, so that range(0,1,0.1) contains 0.7.
static double decimal(const gr_conf *v, double by, const gr_conf *step) {
  long double exact =
      (long double)gr_conf_number(v) + (long double)by * (long double)gr_conf_number(step);
  char text[48];
  snprintf(text, sizeof text, "%.15Lg", exact);
  double near = strtod(text, NULL);
  return fabs(near - (double)exact) <= 4e-16 * fabs(near) ? near : (double)exact;
}

static gr_status list_range(gr_arena *a, const gr_sweep *s, gr_loc loc, gr_conf *out) {
  bool whole = s->start->kind != GR_CONF_FLOAT && s->stop->kind != GR_CONF_FLOAT &&
               s->step->kind != GR_CONF_FLOAT;
  double step = gr_conf_number(s->step), stop = gr_conf_number(s->stop);
  if (!(step > 0) && !(step < 0))
    return gr_fail(GR_ERR_USAGE, loc, "the step of a range cannot be 0");
  for (int i = 0;; i++) {
    double x = decimal(s->start, i, s->step);
    if (step > 0 ? !(x < stop) : !(x > stop)) return GR_OK;
    if (i == MAX_VALUES) return too_many(loc);
    gr_conf *v = gr_conf_make(a, whole ? GR_CONF_INT : GR_CONF_FLOAT, loc);
    if (whole)
      v->integer = (int64_t)x;
    else
      v->number = x;
    gr_conf_append(a, out, v);
  }
}

void gr_sweep_shuffle(gr_arena *a, gr_conf *list, uint64_t step) {
  gr_rng rng = gr_rng_make(0, "sweep:shuffle", step);
  uint32_t *order = GR_NEW(a, uint32_t, list->n + 1);
  gr_conf **items = GR_NEW(a, gr_conf *, list->n + 1);
  gr_rng_shuffle(&rng, order, (uint32_t)list->n);
  for (int i = 0; i < list->n; i++) items[i] = list->items[order[i]];
  if (list->n) memcpy(list->items, items, sizeof *items * (size_t)list->n);
}

gr_status gr_sweep_list(gr_arena *a, const gr_sweep *s, gr_loc loc, const char *const *options,
                        int n_options, gr_conf **out) {
  *out = gr_conf_make(a, GR_CONF_LIST, loc);
  if (s->kind == GR_SWEEP_INTERVAL)
    return gr_hint(gr_fail(GR_ERR_USAGE, loc, "an interval has no list of values to run"),
                   "use range(start,stop,step) or choice(a,b,...), or search it: "
                   "hydra/sweeper=optuna");
  if (s->kind == GR_SWEEP_GLOB)
    GR_TRY(list_glob(a, s, loc, options, n_options, *out));
  else if (s->kind == GR_SWEEP_RANGE)
    GR_TRY(list_range(a, s, loc, *out));
  else
    *out = gr_conf_copy(a, s->list);
  if ((*out)->n > MAX_VALUES) return too_many(loc);
  if (s->shuffle) gr_sweep_shuffle(a, *out, 0);
  return GR_OK;
}
