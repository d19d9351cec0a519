// space.c - the sweeps of arguments as parameters of a search, and values of parameters as
// arguments. See trials.h.
#include <math.h>
#include <string.h>
#include "cli/trials/trials.h"

static double number_of(const gr_conf *v) {
  return v->kind == GR_CONF_FLOAT ? v->number : (double)v->integer;
}

static bool is_whole_interval(const gr_sweep *s) {
  return s->kind == GR_SWEEP_INTERVAL && s->start->kind == GR_CONF_INT &&
         s->stop->kind == GR_CONF_INT;
}

static bool has_order(const gr_sweep_axis *x) {
  return x->sweep->kind == GR_SWEEP_RANGE && !x->sweep->shuffle;
}

// ---- Parameters ------------------------------------------------------------------

static gr_status check_tags(const gr_sweep_axis *x, bool *log) {
  *log = false;
  for (int i = 0; i < x->sweep->n_tags; i++) {
    if (strcmp(x->sweep->tags[i], "log"))
      return gr_hint(gr_fail(GR_ERR_USAGE, x->loc, "the tag '%s' has no meaning for a search",
                             x->sweep->tags[i]),
                     "the only tag is log: tag(log, interval(1e-5, 1e-1))");
    *log = true;
  }
  if (!*log || x->sweep->kind == GR_SWEEP_INTERVAL || has_order(x)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, x->loc, "the choices of '%s' have no logarithm", x->element),
                 "tag(log, ...) is for interval(...) and range(...)");
}

// A range is searched by its index; where the logarithm counts, by its values.
static gr_parameter of_range(const gr_sweep_axis *x, bool log) {
  double first = number_of(x->values->items[0]);
  double last = number_of(x->values->items[x->n - 1]);
  gr_parameter p = {x->element, GR_PARAMETER_STEPS, 0, x->n - 1, 1};
  if (!log) return p;
  p.log = true, p.low = first, p.high = last;
  if (x->n > 1) p.step = (last - first) / (x->n - 1);
  return p;
}

static gr_status check_bounds(const gr_sweep_axis *x, const gr_parameter *p) {
  if (!(p->low <= p->high) || !isfinite(p->high - p->low))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, x->loc, "'%s' goes from %g to %g: the first must be the smaller",
                x->element, p->low, p->high),
        "interval(LEAST, MOST), and range(LEAST, MOST, STEP)");
  double half = p->kind == GR_PARAMETER_STEPS ? p->step / 2 : 0;
  if (!p->log || p->low - half > 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, x->loc, "'%s' begins at %g, which has no logarithm%s",
                         x->element, p->low, half > 0 ? " half a step below" : ""),
                 "begin above 0, as tag(log, interval(1e-5, 1e-1)), or leave out tag(log, ...)");
}

static gr_status read_parameter(const gr_sweep_axis *x, gr_parameter *out) {
  bool log;
  GR_TRY(check_tags(x, &log));
  if (x->values && !x->n)
    return gr_fail(GR_ERR_USAGE, x->loc, "the sweep of '%s' has no values", x->element);
  if (x->sweep->kind == GR_SWEEP_INTERVAL) {
    bool whole = is_whole_interval(x->sweep);
    *out = (gr_parameter){x->element,
                          whole ? GR_PARAMETER_STEPS : GR_PARAMETER_REAL,
                          number_of(x->sweep->start),
                          number_of(x->sweep->stop),
                          whole,
                          log};
  } else if (has_order(x)) {
    *out = of_range(x, log);
  } else {
    *out = (gr_parameter){x->element, GR_PARAMETER_CHOICE, 0, x->n - 1};
  }
  return check_bounds(x, out);
}

gr_status gr_trials_space(gr_trials *t) {
  gr_status all = GR_OK;
  gr_parameter *p = GR_NEW(t->arena, gr_parameter, t->axes->n + 1);
  t->axis_of = GR_NEW(t->arena, int, t->axes->n + 1);
  for (int i = 0; i < t->axes->n; i++) {
    if (!t->axes->list[i].sweep) continue;
    t->axis_of[t->search.n] = i;
    all = gr_also(all, read_parameter(&t->axes->list[i], &p[t->search.n++]));
  }
  t->search.parameters = p;
  if (all || t->search.n) return all;
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the sweep searches, but has no parameters"),
      "give some: training.lr='tag(log, interval(1e-5, 1e-1))', or hydra.sweeper.params");
}

// ---- Arguments -------------------------------------------------------------------

static const char *interval_line(gr_arena *a, const gr_sweep_axis *x, double value) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s=", x->element);
  if (is_whole_interval(x->sweep))
    gr_text_put_int(&t, (int64_t)value);
  else
    gr_text_put_float(&t, value);
  return t.chars;
}

static const char *line_of(const gr_trials *t, int parameter, double value) {
  const gr_sweep_axis *x = &t->axes->list[t->axis_of[parameter]];
  const gr_parameter *p = &t->search.parameters[parameter];
  if (!x->values) return interval_line(t->arena, x, value);
  double step = p->kind == GR_PARAMETER_STEPS ? p->step : 1;
  return x->lines[(int)floor((value - p->low) / step + 0.5)];
}

const char **gr_trials_propose(gr_trials *t, int number) {
  gr_trial *past = GR_NEW(t->arena, gr_trial, number + 1);
  double *x = GR_NEW(t->arena, double, t->search.n);
  const char **lines = GR_NEW(t->arena, const char *, t->axes->n + 1);
  int n = 0;
  gr_arena *scratch = gr_arena_create();
  for (int k = 0; k <= number - t->at_once; k++)
    if (t->ended[k]) past[n++] = t->all[k];
  t->sampler->propose(scratch, &t->search, past, n, number, x);
  gr_arena_destroy(scratch);
  t->all[number] = (gr_trial){x, NAN};
  for (int i = 0; i < t->axes->n; i++)
    if (!t->axes->list[i].sweep) lines[i] = t->axes->list[i].lines[0];
  for (int i = 0; i < t->search.n; i++) lines[t->axis_of[i]] = line_of(t, i, x[i]);
  return t->lines[number] = lines;
}

int gr_trials_known(const gr_trials *t) {
  int64_t n = t->sampler->looks_back ? t->search.options.n_startup_trials : t->n;
  return n < 1 ? 1 : n < t->n ? (int)n : t->n;
}

// ---- Probes ----------------------------------------------------------------------

// How many values of an axis are checked: the ends of intervals and ranges, and all choices.
static int values_checked(const gr_sweep_axis *x) {
  return !x->sweep ? 1 : !x->values ? 2 : has_order(x) && x->n > 2 ? 2 : x->n;
}

static const char *value_checked(gr_arena *a, const gr_sweep_axis *x, int i) {
  if (x->sweep && !x->values)
    return interval_line(a, x, number_of(i ? x->sweep->stop : x->sweep->start));
  return x->lines[i && x->sweep && has_order(x) ? x->n - 1 : i];
}

int gr_trials_probes(const gr_sweep_axes *axes) {
  int n = 1;
  for (int i = 0; i < axes->n; i++) n += values_checked(&axes->list[i]) - 1;
  return n;
}

const char **gr_trials_probe(gr_arena *a, const gr_sweep_axes *axes, int number) {
  const char **lines = GR_NEW(a, const char *, axes->n + 1);
  for (int i = 0; i < axes->n; i++) {
    int more = values_checked(&axes->list[i]) - 1;
    bool changed = number > 0 && number <= more;
    lines[i] = value_checked(a, &axes->list[i], changed ? number : 0);
    number -= more;
  }
  return lines;
}
