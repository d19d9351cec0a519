// samplers.c - the table of samplers, and those that look at no values: random and grid. See
// search.h.
#include <math.h>
#include <stddef.h>
#include "search/parts.h"

const gr_sampler *const gr_samplers[] = {&gr_sampler_grid, &gr_sampler_random, &gr_sampler_tpe,
                                         NULL};

// Those of Optuna's TPESampler.
gr_sampler_options gr_sampler_defaults(void) {
  return (gr_sampler_options){.n_startup_trials = 10,
                              .n_ei_candidates = 24,
                              .prior_weight = 1,
                              .consider_magic_clip = true};
}

// ---- Random ----------------------------------------------------------------------

static void propose_random(gr_arena *a, const gr_search *s, const gr_trial *trials, int n,
                           int64_t number, double *x) {
  (void)a, (void)trials, (void)n;
  for (int i = 0; i < s->n; i++) {
    gr_draws d = gr_draws_of(s, i, number);
    x[i] = gr_draw_parameter(&s->parameters[i], &d);
  }
}

static const gr_sampler_option random_options[] = {
    {"seed", GR_SAMPLER_WHOLE, offsetof(gr_sampler_options, seed)}, {0}};
const gr_sampler gr_sampler_random = {.name = "random",
                                      .class_name = "RandomSampler",
                                      .options = random_options,
                                      .propose = propose_random};

// ---- Grid ------------------------------------------------------------------------

static int64_t steps_of(const gr_parameter *p) {
  double step = p->kind == GR_PARAMETER_STEPS ? p->step : 1;
  return (int64_t)floor((p->high - p->low) / step + 0.5) + 1;
}

int64_t gr_search_combinations(const gr_search *s, int64_t most) {
  int64_t all = 1;
  for (int i = 0; i < s->n; i++) {
    int64_t n = steps_of(&s->parameters[i]);
    if (n > most / all) return most + 1;
    all *= n;
  }
  return all;
}

// In Hydra's order: the last parameter varies fastest.
static void propose_grid(gr_arena *a, const gr_search *s, const gr_trial *trials, int n,
                         int64_t number, double *x) {
  (void)a, (void)trials, (void)n;
  for (int i = s->n - 1; i >= 0; i--) {
    const gr_parameter *p = &s->parameters[i];
    int64_t steps = steps_of(p);
    x[i] = p->low + (p->kind == GR_PARAMETER_STEPS ? p->step : 1) * (double)(number % steps);
    number /= steps;
  }
}

const gr_sampler gr_sampler_grid = {.name = "grid",
                                    .class_name = "GridSampler",
                                    .options = random_options + 1,
                                    .lists = true,
                                    .propose = propose_grid};
