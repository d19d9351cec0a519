// search.h - searches for the parameters with the best value: a sampler proposes the parameters of
// a trial from the values of trials that have ended.
//
// A proposal is a function of the search, the trials that it is given and the trial's number: there
// is no state, and random numbers are those of (seed, parameter, number).
#pragma once
#include "base/arena.h"

typedef enum gr_parameter_kind {
  GR_PARAMETER_REAL,    // from low to high
  GR_PARAMETER_STEPS,   // low, low + step, ... high
  GR_PARAMETER_CHOICE,  // 0 to high: choices without an order; low is 0
} gr_parameter_kind;

// What a parameter may be: low <= high. Numbers of a parameter are in its own units.
typedef struct gr_parameter {
  const char *name;  // also names its random numbers
  gr_parameter_kind kind;
  double low, high, step;  // step > 0 for STEPS
  bool log;                // its logarithm counts: low > 0, and low > step / 2 for STEPS
} gr_parameter;

// A trial that has ended.
typedef struct gr_trial {
  const double *x;  // by parameter
  double value;     // NaN: it failed, and samplers leave it out
} gr_trial;

// What users may set of samplers; each sampler's row names those that it takes.
typedef struct gr_sampler_options {
  int64_t seed;
  int64_t n_startup_trials, n_ei_candidates;
  double prior_weight;
  bool consider_magic_clip, consider_endpoints;
} gr_sampler_options;
gr_sampler_options gr_sampler_defaults(void);  // for what the user does not set

typedef struct gr_search {
  const gr_parameter *parameters;
  int n;
  bool max;  // the greatest value is best, not the least
  gr_sampler_options options;
} gr_search;

typedef enum gr_sampler_option_kind {
  GR_SAMPLER_WHOLE,  // an int64_t of at least 0
  GR_SAMPLER_POSITIVE,
  GR_SAMPLER_NUMBER,      // a double above 0
  GR_SAMPLER_TRUTH,       // a bool
  GR_SAMPLER_ONLY_FALSE,  // these have one value that is supported
  GR_SAMPLER_ONLY_TRUE,
} gr_sampler_option_kind;

typedef struct gr_sampler_option {
  const char *name;
  gr_sampler_option_kind kind;
  size_t offset;  // in gr_sampler_options
} gr_sampler_option;

typedef struct gr_sampler {
  const char *name, *class_name;     // "tpe" and, as in Optuna, "TPESampler"
  const gr_sampler_option *options;  // up to one without a name
  bool looks_back;                   // from n_startup_trials on, proposals depend on values
  bool lists;                        // it lists all combinations, so no parameter may be REAL
  // Writes the parameters of trial `number`. trials: n of them, in the order of their numbers.
  // Scratch memory is the arena's.
  void (*propose)(gr_arena *, const gr_search *, const gr_trial *, int n, int64_t number,
                  double *x);
} gr_sampler;

extern const gr_sampler gr_sampler_random, gr_sampler_grid, gr_sampler_tpe;
extern const gr_sampler *const gr_samplers[];  // up to NULL

// Successive halving: a trial that reaches a rung goes on only if its value there is among the best
// 1 / reduction_factor of all that have reached it (L. Li et al. 2020, "A System for Massively
// Parallel Hyperparameter Tuning"; options as those of Optuna's SuccessiveHalvingPruner).
enum { GR_HALVING_MAX = 1000000000 };  // of a resource
typedef struct gr_halving {
  int64_t min_resource;             // of the first rung, above 0
  int64_t reduction_factor;         // above 1
  int64_t min_early_stopping_rate;  // how many rungs are left out at the beginning
} gr_halving;
// The resource of a rung, counted from 0: min_resource times a power of reduction_factor. 0: it is
// more than GR_HALVING_MAX.
int64_t gr_halving_resource(const gr_halving *, int rung);
// The worst value with which a trial goes on, given the finite values of the n others that have
// reached the rung, which are sorted in place. NaN: with any value.
double gr_halving_bar(const gr_halving *, double *values, int n, bool max);

// How many combinations of STEPS and CHOICE parameters there are; more than `most` count as
// most + 1.
int64_t gr_search_combinations(const gr_search *, int64_t most);

// The share of the variance of the values' ranks that each parameter explains alone, from 0 to 1,
// into `out`: ranks are averaged in bins of the parameter (its choices, or up to 8 bins of equally
// many trials), and what averages of random bins would explain is subtracted. NaN for fewer than
// eight trials with values, and for a parameter that does not vary.
void gr_search_importance(gr_arena *, const gr_search *, const gr_trial *, int n, double *out);
