// functions.h - functions with known least values, to compare samplers on, and their regret: how
// far the best trial of a search is from the least value.
#pragma once
#include <math.h>
#include "search/search.h"

enum { TRIALS = 60, SEEDS = 20, MAX_PARAMETERS = 4 };

typedef struct function {
  const char *name;
  gr_parameter parameters[MAX_PARAMETERS];
  int n;
  double least;
  double (*value)(const double *x);
} function;

// The sum of squares, least at 0.
static double sphere(const double *x) { return x[0] * x[0] + x[1] * x[1]; }

// L. C. W. Dixon, G. P. Szego, "Towards global optimisation", 1978.
static double branin(const double *x) {
  const double pi = 3.14159265358979323846;
  double bend = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return bend * bend + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10;
}

// Best at a rate of 1e-3, six layers, the first of four kinds and a share of 0.3.
static double mixed(const double *x) {
  static const double kinds[] = {0, 1, 2, 0.5};
  double rate = log10(x[0]) + 3, layers = x[1] - 6, share = x[3] - 0.3;
  return rate * rate + 0.2 * layers * layers + kinds[(int)x[2]] + 4 * share * share;
}

static const function functions[] = {
    {"sphere", {{"x", GR_PARAMETER_REAL, -5, 5}, {"y", GR_PARAMETER_REAL, -5, 5}}, 2, 0, sphere},
    {"branin",
     {{"x", GR_PARAMETER_REAL, -5, 10}, {"y", GR_PARAMETER_REAL, 0, 15}},
     2,
     0.39788735772973816,
     branin},
    {"mixed",
     {{"rate", GR_PARAMETER_REAL, 1e-5, 1e-1, 0, true},
      {"layers", GR_PARAMETER_STEPS, 1, 8, 1},
      {"kind", GR_PARAMETER_CHOICE, 0, 3},
      {"share", GR_PARAMETER_REAL, 0, 1}},
     4,
     0,
     mixed},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

// Runs a search; trials has room for TRIALS.
static void run_search(gr_arena *a, const function *f, const gr_search *s,
                       const gr_sampler *sampler, gr_trial *trials) {
  for (int k = 0; k < TRIALS; k++) {
    double *x = GR_NEW(a, double, f->n);
    gr_arena *scratch = gr_arena_create();
    sampler->propose(scratch, s, trials, k, k, x);
    gr_arena_destroy(scratch);
    trials[k] = (gr_trial){x, (s->max ? -1 : 1) * f->value(x)};
  }
}

// A search for the least value of a function.
static gr_search search_of(const function *f, int64_t seed) {
  gr_search s = {f->parameters, f->n, false, gr_sampler_defaults()};
  s.options.seed = seed;
  return s;
}

// The least value that TRIALS trials find, above the least there is.
static double regret_of(gr_arena *a, const function *f, const gr_sampler *sampler, int64_t seed) {
  gr_trial trials[TRIALS];
  gr_search s = search_of(f, seed);
  double least = INFINITY;
  run_search(a, f, &s, sampler, trials);
  for (int k = 0; k < TRIALS; k++) least = fmin(least, trials[k].value);
  return least - f->least;
}
