// test_ema.c - averages of weights against their formula in double, on any number of ranks, under
// every strategy, in micro-steps and with every optimizer; steps that are skipped; and evaluation
// by averages. The op itself is tested against PyTorch's AveragedModel (tests/golden/ops.py).
#include <math.h>
#include "tests/check.h"
#include "tests/compiler/steps.h"

enum { ALL = 64, STEPS = 5 };
static const char *const averages[] = {"body.weight.ema", "body.bias.ema", "head.weight.ema",
                                       "head.bias.ema", NULL};

static setup some_steps(int steps) {
  return (setup){.way = &steps_ways[0],
                 .batch = 11,
                 .ranks = 1,
                 .parts = 1,
                 .rate = 0.25f,
                 .steps = steps,
                 .tuning = "momentum=0.9",
                 .has_ema = true,
                 .ema_decay = 0.75};
}

static ran run(const setup *s) {
  ran r;
  MUST(steps_run(s, &r));
  CHECK(r.n == ALL, "%d numbers", r.n);
  return r;
}

static ran averages_of(setup s) {
  s.names = averages;
  return run(&s);
}

static void is_near(const setup *s, const char *what, const float *got, const double *want) {
  for (int i = 0; i < ALL; i++)
    CHECK(fabs((double)got[i] - want[i]) < 2e-6 * (1 + fabs(want[i])),
          "%s, %s, %d ranks, %d micro-steps, %s: number %d is %.9g, not %.9g", what, s->way->name,
          s->ranks, s->parts, s->optimizer ? s->optimizer : "sgd", i, (double)got[i], want[i]);
}

// They begin as the weights.
static void by_formula(setup one, double e[ALL]) {
  one.steps = 0;
  ran w = run(&one);
  for (int i = 0; i < ALL; i++) e[i] = (double)w.weights[i];
  for (one.steps = 1; one.steps <= STEPS; one.steps++) {
    w = run(&one);
    for (int i = 0; i < ALL; i++)
      e[i] = one.ema_decay * e[i] + (1 - one.ema_decay) * (double)w.weights[i];
  }
}

static void formula(void) {
  static const double decays[] = {0, 0.3, 0.5, 0.75, 0.999, 1};
  for (size_t k = 0; k < sizeof decays / sizeof *decays; k++) {
    double e[ALL];
    setup s = some_steps(STEPS);
    s.ema_decay = decays[k];
    by_formula(s, e);
    ran got = averages_of(s);
    is_near(&s, "by the formula", got.weights, e);
    ran w = run(&s);
    if (!decays[k])
      CHECK(!memcmp(got.weights, w.weights, sizeof *w.weights * ALL), "a decay of 0 copies");
  }
}

// Averages change nothing of the training.
static void weights_alike(void) {
  setup s = some_steps(STEPS), without = s;
  without.has_ema = false;
  ran a = run(&s), b = run(&without);
  CHECK(!memcmp(a.weights, b.weights, sizeof *a.weights * ALL), "weights differ");
}

static void ranks(void) {
  static const char *const optimizers[][2] = {
      {"sgd", "momentum=0.9"}, {"adam", ""}, {"adamw", ""}, {"lion", ""}, {"adafactor", ""}};
  for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; o++) {
    setup one = some_steps(STEPS);
    one.optimizer = optimizers[o][0], one.tuning = optimizers[o][1];
    if (o) one.rate = 0.01f;
    ran want = averages_of(one);
    for (int k = 0; k < STEPS_WAYS * 8; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS];
      s.ranks = (const int[]){1, 2, 3, 5}[k / STEPS_WAYS % 4], s.parts = 1 + k / STEPS_WAYS / 4;
      ran got = averages_of(s);
      for (int i = 0; i < ALL; i++)
        CHECK(fabsf(got.weights[i] - want.weights[i]) < 2e-5f,
              "%s, %s, %d ranks, %d micro-steps: %d is off by %g", one.optimizer, s.way->name,
              s.ranks, s.parts, i, (double)(got.weights[i] - want.weights[i]));
    }
  }
}

// A gradient that is not finite: averages do not follow either, though the weight is the same.
static void skipped(void) {
  for (int k = 0; k < STEPS_WAYS; k++) {
    setup s = some_steps(2), before = some_steps(1);
    s.bad = (float)INFINITY, s.ranks = before.ranks = 2, s.way = before.way = &steps_ways[k];
    ran got = averages_of(s), want = averages_of(before);
    CHECK(got.ok == 0, "the step was taken");
    CHECK(!memcmp(got.weights, want.weights, sizeof *got.weights * ALL), "%s: averages moved",
          s.way->name);
  }
}

static double eval_loss(double decay, bool has_ema, int steps, const way *how, int n_ranks) {
  setup s = some_steps(steps);
  s.has_eval = true, s.has_ema = has_ema, s.ema_decay = decay, s.way = how, s.ranks = n_ranks;
  return run(&s).eval_loss;
}

// An average that copies the weight evaluates as it does, and one that never follows as the first.
static void evaluation(void) {
  double first = eval_loss(0, false, 0, &steps_ways[0], 1);
  double last = eval_loss(0, false, STEPS, &steps_ways[0], 1);
  double between = eval_loss(0.5, true, STEPS, &steps_ways[0], 1);
  CHECK(fabs(first - last) > 1e-2, "nothing is learned: %g, %g", first, last);
  CHECK(fabs(between - last) > 1e-3 && fabs(between - first) > 1e-3, "%g, %g, %g", first, between,
        last);
  CHECK(eval_loss(0, true, STEPS, &steps_ways[0], 1) == last, "not by the last weights");
  CHECK(eval_loss(1, true, STEPS, &steps_ways[0], 1) == first, "not by the first weights");
  for (int k = 0; k < STEPS_WAYS * 3; k++) {
    double got = eval_loss(0.5, true, STEPS, &steps_ways[k % STEPS_WAYS], 1 + k / STEPS_WAYS);
    CHECK(fabs(got - between) < 1e-5, "%s on %d ranks: %.9g, not %.9g",
          steps_ways[k % STEPS_WAYS].name, 1 + k / STEPS_WAYS, got, between);
  }
}

// Moments and averages of a weight lie alike; frozen weights have neither.
static void layouts(void) {
  gr_arena *arena = gr_arena_create();
  for (int k = 0; k < STEPS_WAYS; k++) {
    gr_plan *p;
    int split = 0;
    setup s = some_steps(1);
    s.way = &steps_ways[k], s.ranks = 3;
    MUST(steps_plan(arena, &s, &p));
    for (uint32_t i = 0; i < p->n_states; i++) {
      const gr_plan_state *e = &p->states[i];
      const char *moment = gr_arena_printf(arena, "%.*s.m", (int)strlen(e->name) - 4, e->name);
      if (e->kind != GR_KIND_EMA) continue;
      split += !gr_type_same(&e->type, &e->global);
      for (uint32_t j = 0; j < p->n_states; j++)
        if (!strcmp(p->states[j].name, moment))
          CHECK(gr_layout_same(&p->states[j].layout, &e->layout), "%s: %s", s.way->name, e->name);
    }
    CHECK(k ? split == 4 : !split, "%s: %d averages are split", s.way->name, split);
  }
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"formula", formula}, {"weights_alike", weights_alike}, {"ranks", ranks},
             {"skipped", skipped}, {"evaluation", evaluation}, {"layouts", layouts});
}
