// tpe.c - the tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kegl, "Algorithms for
// hyper-parameter optimization", 2011), each parameter on its own, with the defaults that Optuna
// documents. Of values drawn from the density of the best trials it proposes the one whose density
// is largest relative to that of the others.
#include <math.h>
#include <stddef.h>
#include "search/parzen.h"

// How many of n trials are the best ones.
static int best_of(int n) {
  int tenth = (n + 9) / 10;
  return tenth < 25 ? tenth : 25;
}

static bool better(const gr_search *s, const gr_trial *a, const gr_trial *b) {
  return s->max ? a->value > b->value : a->value < b->value;
}

// Which trials are among the best `count`; of equal ones the first.
static void mark_best(const gr_search *s, const gr_trial *t, int n, int count, bool *best) {
  for (int k = 0; k < count; k++) {
    int first = -1;
    for (int i = 0; i < n; i++)
      if (!best[i] && (first < 0 || better(s, &t[i], &t[first]))) first = i;
    best[first] = true;
  }
}

static gr_parzen estimate(gr_arena *a, const gr_search *s, int parameter, const gr_trial *t, int n,
                          const bool *best, bool wanted) {
  double *x = GR_NEW(a, double, n + 1);
  int count = 0;
  for (int i = 0; i < n; i++)
    if (best[i] == wanted) x[count++] = t[i].x[parameter];
  return gr_parzen_make(a, &s->parameters[parameter], &s->options, x, count);
}

static double propose_one(gr_arena *a, const gr_search *s, int parameter, const gr_trial *t, int n,
                          const bool *best, int64_t number) {
  gr_parzen good = estimate(a, s, parameter, t, n, best, true);
  gr_parzen rest = estimate(a, s, parameter, t, n, best, false);
  gr_draws d = gr_draws_of(s, parameter, number);
  double chosen = 0, highest = -INFINITY;
  for (int64_t i = 0; i < s->options.n_ei_candidates; i++) {
    double x = gr_parzen_draw(&good, &d);
    double gain = log(gr_parzen_density(&good, x)) - log(gr_parzen_density(&rest, x));
    if (i && !(gain > highest)) continue;
    highest = gain, chosen = x;
  }
  return chosen;
}

static void propose(gr_arena *a, const gr_search *s, const gr_trial *trials, int n, int64_t number,
                    double *x) {
  gr_trial *t = GR_NEW(a, gr_trial, n + 1);
  bool *best = GR_NEW(a, bool, n + 1);
  int count = 0;
  for (int i = 0; i < n; i++)
    if (!isnan(trials[i].value)) t[count++] = trials[i];
  if (count < s->options.n_startup_trials || !count) {
    gr_sampler_random.propose(a, s, trials, n, number, x);
    return;
  }
  mark_best(s, t, count, best_of(count), best);
  for (int i = 0; i < s->n; i++) x[i] = propose_one(a, s, i, t, count, best, number);
}

static const gr_sampler_option options[] = {
    {"seed", GR_SAMPLER_WHOLE, offsetof(gr_sampler_options, seed)},
    {"n_startup_trials", GR_SAMPLER_WHOLE, offsetof(gr_sampler_options, n_startup_trials)},
    {"n_ei_candidates", GR_SAMPLER_POSITIVE, offsetof(gr_sampler_options, n_ei_candidates)},
    {"prior_weight", GR_SAMPLER_NUMBER, offsetof(gr_sampler_options, prior_weight)},
    {"consider_magic_clip", GR_SAMPLER_TRUTH, offsetof(gr_sampler_options, consider_magic_clip)},
    {"consider_endpoints", GR_SAMPLER_TRUTH, offsetof(gr_sampler_options, consider_endpoints)},
    {"consider_prior", GR_SAMPLER_ONLY_TRUE},
    {"warn_independent_sampling", GR_SAMPLER_ONLY_TRUE},
    {"multivariate", GR_SAMPLER_ONLY_FALSE},
    {"group", GR_SAMPLER_ONLY_FALSE},
    {"constant_liar", GR_SAMPLER_ONLY_FALSE},
    {0}};
const gr_sampler gr_sampler_tpe = {.name = "tpe",
                                   .class_name = "TPESampler",
                                   .options = options,
                                   .looks_back = true,
                                   .propose = propose};
