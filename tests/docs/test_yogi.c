// test_yogi.c - the optimizer of docs/add-an-optimizer.md trains, on one rank and on three that
// share its states, and its state starts as its hyper-parameter says.
#include <math.h>
#include "ops/optim/optim.h"
#include "tests/check.h"
#include "tests/compiler/steps.h"

static ran run(const setup *s) {
  ran r = {0};
  MUST(steps_run(s, &r));
  return r;
}

static void trains(void) {
  setup one = {.way = &steps_ways[0], .optimizer = "yogi", .rate = 0.1f, .steps = 1};
  one.batch = 11, one.ranks = one.parts = 1;
  ran first = run(&one);
  one.steps = 4;
  ran want = run(&one);
  CHECK(want.loss < first.loss, "the loss is %g, and was %g", want.loss, first.loss);
  for (int k = 0; k < STEPS_WAYS; k++) {
    setup s = one;
    s.way = &steps_ways[k], s.ranks = 3;
    ran got = run(&s);
    CHECK(got.n == want.n, "%d numbers, not %d", got.n, want.n);
    for (int i = 0; i < want.n; i++)
      CHECK(fabs((double)(got.weights[i] - want.weights[i])) < 2e-5, "number %d is %g, not %g", i,
            (double)got.weights[i], (double)want.weights[i]);
  }
}

// A sum that starts large makes short steps.
static void starts_as_told(void) {
  setup s = {.way = &steps_ways[0], .optimizer = "yogi", .rate = 0.1f, .steps = 1};
  s.batch = 11, s.ranks = s.parts = 1, s.tuning = "initial=0";
  ran before = run(&(setup){
      .way = s.way, .optimizer = "yogi", .batch = 11, .ranks = 1, .parts = 1, .steps = 1});
  ran plain = run(&s);
  s.tuning = "initial=1e8";
  ran slow = run(&s);
  double moved = 0, crept = 0;
  for (int i = 0; i < plain.n; i++) {
    moved = check_worse(moved, fabs((double)(plain.weights[i] - before.weights[i])));
    crept = check_worse(crept, fabs((double)(slow.weights[i] - before.weights[i])));
  }
  CHECK(moved > 0.09 && isfinite(moved),
        "without a start the first step is the learning rate, not %g", moved);
  CHECK(crept < 1e-3, "steps of %g after a start of 1e8", crept);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"trains", trains}, {"starts_as_told", starts_as_told});
}
