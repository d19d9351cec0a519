// test_search.c - what samplers propose, and that looking at values pays. `test_search regret
// FIRST SEEDS` prints the mean regret of each sampler (tests/bench/bench_search_optuna.py).
#include "search/search.h"
#include "tests/check.h"
#include "tests/search/functions.h"

static double mean_regret(const function *f, const gr_sampler *sampler, int first, int seeds) {
  gr_arena *a = gr_arena_create();
  double sum = 0;
  for (int seed = first; seed < first + seeds; seed++) sum += regret_of(a, f, sampler, seed);
  gr_arena_destroy(a);
  return sum / seeds;
}

static void tpe_is_better_than_random(void) {
  for (int i = 0; i < N_FUNCTIONS; i++) {
    double tpe = mean_regret(&functions[i], &gr_sampler_tpe, 0, SEEDS);
    double random = mean_regret(&functions[i], &gr_sampler_random, 0, SEEDS);
    CHECK(tpe < 0.6 * random, "%s: the mean regret of tpe is %g, of random %g", functions[i].name,
          tpe, random);
  }
}

static void proposals_depend_on_seed_and_number_alone(void) {
  gr_arena *a = gr_arena_create();
  for (int i = 0; gr_samplers[i]; i++) {
    if (gr_samplers[i]->lists) continue;
    const function *f = &functions[2];
    gr_trial one[TRIALS], two[TRIALS], other[TRIALS];
    gr_search s = search_of(f, 7), t = search_of(f, 8);
    run_search(a, f, &s, gr_samplers[i], one);
    run_search(a, f, &s, gr_samplers[i], two);
    run_search(a, f, &t, gr_samplers[i], other);
    for (int k = 0; k < TRIALS; k++)
      CHECK(one[k].value == two[k].value, "%s: trial %d differs", gr_samplers[i]->name, k);
    CHECK(one[0].value != other[0].value, "%s: two seeds, one trial", gr_samplers[i]->name);
  }
  gr_arena_destroy(a);
}

// A search for the greatest value of -f is that for the least of f.
static void max_is_min_of_the_negative(void) {
  gr_arena *a = gr_arena_create();
  gr_trial least[TRIALS], greatest[TRIALS];
  gr_search s = search_of(&functions[1], 3);
  run_search(a, &functions[1], &s, &gr_sampler_tpe, least);
  s.max = true;
  run_search(a, &functions[1], &s, &gr_sampler_tpe, greatest);
  for (int k = 0; k < TRIALS; k++)
    CHECK(least[k].value == -greatest[k].value, "trial %d differs", k);
  gr_arena_destroy(a);
}

static void failed_trials_are_left_out(void) {
  const function *f = &functions[2];
  gr_arena *a = gr_arena_create();
  gr_trial trials[TRIALS], with_failed[2 * TRIALS];
  gr_search s = search_of(f, 5);
  double x[MAX_PARAMETERS], y[MAX_PARAMETERS];
  run_search(a, f, &s, &gr_sampler_tpe, trials);
  for (int k = 0; k < TRIALS; k++) {
    with_failed[2 * k] = (gr_trial){trials[TRIALS - 1 - k].x, NAN};
    with_failed[2 * k + 1] = trials[k];
  }
  gr_sampler_tpe.propose(a, &s, trials, TRIALS, 99, x);
  gr_sampler_tpe.propose(a, &s, with_failed, 2 * TRIALS, 99, y);
  for (int i = 0; i < f->n; i++) CHECK(x[i] == y[i], "%s", f->parameters[i].name);
  gr_arena_destroy(a);
}

static bool may_be(const gr_parameter *p, double x) {
  double steps = (x - p->low) / (p->kind == GR_PARAMETER_STEPS ? p->step : 1);
  bool whole = p->kind == GR_PARAMETER_REAL || fabs(steps - round(steps)) < 1e-9;
  return x >= p->low && x <= p->high && whole;
}

// Parameters of one value, of huge and of tiny ranges, with failed trials between: every proposal
// is one that the parameter may be.
static void proposals_are_within(void) {
  static const gr_parameter odd[] = {
      {"one", GR_PARAMETER_REAL, 3, 3},
      {"step", GR_PARAMETER_STEPS, 2, 2, 1},
      {"choice", GR_PARAMETER_CHOICE, 0, 0},
      {"wide", GR_PARAMETER_REAL, -1e300, 1e300},
      {"tiny", GR_PARAMETER_REAL, 1e-300, 1e-299, 0, true},
      {"many", GR_PARAMETER_STEPS, 1, 4096, 1, true},
      {"tenths", GR_PARAMETER_STEPS, 0, 0.9, 0.1},
  };
  enum { N = sizeof odd / sizeof *odd };
  gr_arena *a = gr_arena_create();
  for (int i = 0; gr_samplers[i]; i++) {
    if (gr_samplers[i]->lists) continue;
    gr_search s = {odd, N, false, gr_sampler_defaults()};
    gr_trial trials[TRIALS];
    for (int k = 0; k < TRIALS; k++) {
      double *x = GR_NEW(a, double, N);
      gr_samplers[i]->propose(a, &s, trials, k, k, x);
      for (int p = 0; p < N; p++)
        CHECK(may_be(&odd[p], x[p]), "%s: '%s' cannot be %g", gr_samplers[i]->name, odd[p].name,
              x[p]);
      trials[k] = (gr_trial){x, k % 5 ? x[5] + x[6] : NAN};
    }
  }
  gr_arena_destroy(a);
}

static void grid_lists_all_once(void) {
  static const gr_parameter two[] = {{"a", GR_PARAMETER_STEPS, 1, 3, 1},
                                     {"b", GR_PARAMETER_CHOICE, 0, 1}};
  gr_arena *a = gr_arena_create();
  gr_search s = {two, 2, false, gr_sampler_defaults()};
  CHECK(gr_search_combinations(&s, 100) == 6, "%d", (int)gr_search_combinations(&s, 100));
  CHECK(gr_search_combinations(&s, 5) == 6, "%d", (int)gr_search_combinations(&s, 5));
  for (int k = 0; k < 6; k++) {
    double x[2];
    gr_sampler_grid.propose(a, &s, NULL, 0, k, x);
    CHECK(x[0] == 1 + k / 2 && x[1] == k % 2, "%d: %g %g", k, x[0], x[1]);
  }
  gr_arena_destroy(a);
}

// Of y = x0 + noise of x1, x0 explains nearly all and x2, which is not in y, nearly nothing.
static void importance_finds_what_matters(void) {
  static const gr_parameter three[] = {{"x", GR_PARAMETER_REAL, 0, 1},
                                       {"c", GR_PARAMETER_CHOICE, 0, 2},
                                       {"z", GR_PARAMETER_REAL, 0, 1}};
  gr_arena *a = gr_arena_create();
  gr_search s = {three, 3, false, gr_sampler_defaults()};
  gr_trial trials[100];
  double share[3];
  for (int k = 0; k < 100; k++) {
    double *x = GR_NEW(a, double, 3);
    gr_sampler_random.propose(a, &s, NULL, 0, k, x);
    trials[k] = (gr_trial){x, k == 50 ? NAN : x[0] + 0.1 * x[1]};
  }
  gr_search_importance(a, &s, trials, 100, share);
  CHECK(share[0] > 0.8 && share[1] < 0.2 && share[2] < 0.1, "%g %g %g", share[0], share[1],
        share[2]);
  gr_search_importance(a, &s, trials, 7, share);
  CHECK(isnan(share[0]), "seven trials explain %g", share[0]);
  gr_arena_destroy(a);
}

// The values of the paper's figure: of 9 configurations 3 go on past the first rung, of 3 one.
static void halving_keeps_the_best(void) {
  gr_halving h = {.min_resource = 1, .reduction_factor = 3};
  CHECK(gr_halving_resource(&h, 0) == 1 && gr_halving_resource(&h, 3) == 27, "other rungs");
  h.min_early_stopping_rate = 2;
  CHECK(gr_halving_resource(&h, 0) == 9, "rungs are not left out");
  CHECK(!gr_halving_resource(&h, 30), "a rung past all epochs");
  double others[8] = {5, 1, 7, 3, 8, 2, 6, 4};
  CHECK(isnan(gr_halving_bar(&h, others, 0, false)), "the first trial does not go on");
  CHECK(gr_halving_bar(&h, others, 8, false) == 3, "three of nine have 3 or less");
  CHECK(gr_halving_bar(&h, others, 8, true) == 6, "three of nine have 6 or more");
  double two[2] = {5, 1}, one[1] = {5};
  CHECK(gr_halving_bar(&h, two, 2, false) == 1, "the best of three goes on");
  CHECK(gr_halving_bar(&h, one, 1, false) == 5, "of two the better one goes on");
}

static int print_regret(int first, int seeds) {
  for (int i = 0; i < N_FUNCTIONS; i++)
    for (int k = 0; gr_samplers[k]; k++)
      if (!gr_samplers[k]->lists)
        printf("%s %s %.6g\n", functions[i].name, gr_samplers[k]->name,
               mean_regret(&functions[i], gr_samplers[k], first, seeds));
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "regret")) return print_regret(atoi(argv[2]), atoi(argv[3]));
  return RUN(
      argc, argv, {"tpe is better than random", tpe_is_better_than_random},
      {"proposals depend on seed and number alone", proposals_depend_on_seed_and_number_alone},
      {"max is min of the negative", max_is_min_of_the_negative},
      {"failed trials are left out", failed_trials_are_left_out},
      {"proposals are within", proposals_are_within}, {"grid lists all once", grid_lists_all_once},
      {"importance finds what matters", importance_finds_what_matters},
      {"halving keeps the best", halving_keeps_the_best});
}
