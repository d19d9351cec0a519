// test_groups.c - groups of weights that are updated in different ways: rate, clipping, weight
// decay and optimizer against their definitions, on any number of ranks and under every strategy.
#include <math.h>
#include <string.h>
#include "tests/check.h"
#include "tests/compiler/optim.h"
#include "tests/compiler/steps.h"

static gr_arena *arena;
enum { WEIGHT = 0, BIAS = 30, HEAD = 36, HEAD_BIAS = 60, ALL = 64 };  // in ran.weights

static setup one_step(void) {
  return (setup){
      .way = &steps_ways[0], .batch = 12, .ranks = 1, .parts = 1, .rate = 0.5f, .steps = 1};
}

static ran run(const setup *s) {
  ran r;
  MUST(steps_run(s, &r));
  CHECK(r.n == ALL, "%d numbers", r.n);
  return r;
}

// The weights before the step.
static ran start(void) {
  setup s = one_step();
  s.steps = 0;
  return run(&s);
}

static double length(const ran *a, const ran *b, int begin, int end) {
  double sum = 0;
  for (int i = begin; i < end; i++)
    sum += ((double)a->weights[i] - (double)b->weights[i]) *
           ((double)a->weights[i] - (double)b->weights[i]);
  return sqrt(sum);
}

// The step of each number is `by` times what it is without groups, and adds `decay` times the
// number.
static void is_scaled(const char *what, const ran *w, const ran *plain, const ran *got, int begin,
                      int end, double by, double decay) {
  for (int i = begin; i < end; i++) {
    double before = (double)w->weights[i], step = (double)plain->weights[i] - before;
    double want = before + by * step + decay * before;
    CHECK(fabs((double)got->weights[i] - want) < 1e-6 * (1 + fabs(want)),
          "%s: number %d is %g, not %g", what, i, (double)got->weights[i], want);
  }
}

static void rates(void) {
  const gr_param_group groups[] = {{"head.b*", "sgd", .lr = 0, .clip = -1},
                                   {"head.*", "sgd", .lr = 0.25, .clip = -1}};
  setup s = one_step();
  ran w = start(), plain = run(&s);
  s.groups = groups, s.n_groups = 2;
  ran got = run(&s);
  is_scaled("no group", &w, &plain, &got, WEIGHT, HEAD, 1, 0);
  is_scaled("a quarter", &w, &plain, &got, HEAD, HEAD_BIAS, 0.25, 0);
  is_scaled("the first that matches: no rate", &w, &plain, &got, HEAD_BIAS, ALL, 0, 0);
  CHECK(plain.norm == got.norm, "the norm of all gradients: %g, %g", plain.norm, got.norm);
}

// Each group by its own norm; the others together, by the global limit.
static void clips(void) {
  setup s = one_step();
  ran w = start(), plain = run(&s);
  double body = length(&plain, &w, WEIGHT, HEAD) / 0.5, head = length(&plain, &w, HEAD, ALL) / 0.5;
  CHECK(body > 0.02 && head > 0.02, "%g, %g", body, head);
  for (int k = 0; k < 3; k++) {
    const gr_param_group groups[] = {{"head.*", "sgd", .lr = 1, .clip = k == 1 ? 0 : head / 4}};
    s.groups = groups, s.n_groups = 1, s.clip = (float)(k == 2 ? 0 : body / 8);
    ran got = run(&s);
    is_scaled("others", &w, &plain, &got, WEIGHT, HEAD, k == 2 ? 1 : 1.0 / 8, 0);
    is_scaled("head", &w, &plain, &got, HEAD, ALL, k == 1 ? 1 : 1.0 / 4, 0);
    CHECK(fabs(got.norm - plain.norm) < 1e-6, "the norm of all: %g, not %g", got.norm, plain.norm);
  }
  // A group that only changes the rate is clipped with the others.
  const gr_param_group rate[] = {{"head.*", "sgd", .lr = 0.5, .clip = -1}};
  double by = plain.norm / 16;
  s.groups = rate, s.clip = (float)by;
  ran got = run(&s);
  is_scaled("together", &w, &plain, &got, WEIGHT, HEAD, 1.0 / 16, 0);
  is_scaled("together, at half the rate", &w, &plain, &got, HEAD, ALL, 1.0 / 32, 0);
}

// Each element of the gradient by itself, after the norm has limited all of them.
static void values(void) {
  setup s = one_step();
  ran w = start(), plain = run(&s);
  double largest = 0, limit = 0.02, by = plain.norm / 2;
  for (int k = 0; k < 2; k++) {
    s.clip_value = (float)limit, s.clip = (float)(k ? by : 0);
    ran got = run(&s);
    for (int i = 0; i < ALL; i++) {
      double g = ((double)w.weights[i] - (double)plain.weights[i]) / 0.5 * (k ? 0.5 : 1);
      double want = (double)w.weights[i] - 0.5 * fmax(-limit, fmin(limit, g));
      CHECK(fabs((double)got.weights[i] - want) < 1e-6, "number %d is %g, not %g", i,
            (double)got.weights[i], want);
      largest = fmax(largest, fabs(g));
    }
    CHECK(got.norm == plain.norm, "the norm is %g, not %g", got.norm, plain.norm);
  }
  CHECK(largest > 2 * limit, "nothing is clipped: %g", largest);
}

static void decay(void) {
  const gr_param_group groups[] = {{"head.*", "sgd", .lr = 0.5, .clip = -1}};
  setup s = one_step();
  ran w = start(), plain = run(&s);
  s.groups = groups, s.n_groups = 1, s.tuning = "weight_decay=0.1", s.tuning_1d = "weight_decay=0";
  ran got = run(&s);
  is_scaled("a matrix", &w, &plain, &got, WEIGHT, BIAS, 1, -0.05);
  is_scaled("a bias", &w, &plain, &got, BIAS, HEAD, 1, 0);
  is_scaled("a group without", &w, &plain, &got, HEAD, ALL, 0.5, 0);
  const gr_param_group head_groups[] = {{.pattern = "head.*",
                                         .optimizer = "sgd",
                                         .attr = optim_attr(arena, "sgd", "weight_decay=0.2"),
                                         .lr = 1,
                                         .clip = -1}};
  s.groups = head_groups;
  got = run(&s);
  is_scaled("a group with its own", &w, &plain, &got, HEAD, ALL, 1, -0.1);
}

static void optimizers(void) {
  const gr_param_group groups[] = {{"head.*", "lion", .lr = 0.125, .clip = -1}};
  setup s = one_step();
  ran w = start(), plain = run(&s);
  s.groups = groups, s.n_groups = 1;
  ran got = run(&s);
  gr_plan *p;
  MUST(steps_plan(arena, &s, &p));
  int moments = 0;
  for (uint32_t i = 0; i < p->n_states; i++) moments += p->states[i].kind == GR_KIND_MOMENT;
  CHECK(moments == 2, "%d moments", moments);
  is_scaled("sgd", &w, &plain, &got, WEIGHT, HEAD, 1, 0);
  for (int i = HEAD; i < ALL; i++)  // lion moves each number by its rate
    CHECK(fabsf(fabsf(got.weights[i] - w.weights[i]) - 0.0625f) < 1e-6f, "number %d", i);
}

static const gr_param_group mixed[] = {
    {"body.bias", "sgd", .lr = 0.5, .clip = -1},
    {"head.*", "adam", .lr = 0.03125, .clip = 0.02},
};

static void ranks(void) {
  for (int batch = 11; batch <= 12; batch++) {
    setup one = one_step();
    one.batch = batch, one.steps = 4, one.groups = mixed, one.n_groups = 2, one.clip = 0.1f;
    one.tuning = "momentum=0.9";
    ran want = run(&one);
    for (int k = 0; k < STEPS_WAYS * 6; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS];
      s.ranks = 1 + k / STEPS_WAYS % 3, s.parts = 1 + k / STEPS_WAYS / 3;
      ran got = run(&s);
      for (int i = 0; i < ALL; i++)
        CHECK(fabsf(got.weights[i] - want.weights[i]) < 2e-5f,
              "%s, %d ranks, %d micro-steps: %d is off by %g", s.way->name, s.ranks, s.parts, i,
              (double)(got.weights[i] - want.weights[i]));
    }
  }
}

// A gradient that is not finite skips the step of every group.
static void skipped(void) {
  setup s = one_step(), good = s;
  s.groups = good.groups = mixed, s.n_groups = good.n_groups = 2;
  s.steps = 2, s.bad = (float)INFINITY;
  ran one = run(&good), two = run(&s);
  CHECK(two.ok == 0 && !memcmp(one.weights, two.weights, sizeof *one.weights * ALL), "not skipped");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed =
      RUN(argc, argv, {"rates", rates}, {"clips", clips}, {"values", values}, {"decay", decay},
          {"optimizers", optimizers}, {"ranks", ranks}, {"skipped", skipped});
  gr_arena_destroy(arena);
  return failed;
}
