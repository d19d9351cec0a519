// test_eta.c - the remaining time of runs whose times are given: from a twentieth of a run on it is
// within a factor of two.
#include "runtime/report/eta.h"
#include "tests/check.h"

typedef struct run {
  const char *name;
  int steps, eval_every, save_every;           // steps between them; 0: none
  double first, slow, step, eval_batch, save;  // seconds: the first step, of the first tenth, ...
  double eval_batches, final_batches;          // of each evaluation, and of the last one beside it
} run;

static const run runs[] = {
    {"steps alone", 200, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0, 0},
    {"a first step that warms up", 400, 0, 0, 60, 0.5, 0.5, 0, 0, 0, 0},
    {"slow data at first", 400, 0, 0, 1, 0.8, 0.5, 0, 0, 0, 0},
    {"evaluations that take longer than the steps", 1000, 100, 0, 1, 0.3, 0.3, 0.12, 0, 600, 600},
    {"the same, of which the first is after a half", 1000, 500, 0, 1, 0.3, 0.3, 0.09, 0, 900, 0},
    {"checkpoints that take a fifth", 1000, 0, 20, 1, 0.3, 0.3, 0, 1.5, 0, 0},
    {"all of these", 600, 60, 25, 30, 0.5, 0.4, 0.15, 2, 80, 400},
};

static int left_of(const run *r, int every, int done) {
  return every ? r->steps / every - done / every : 0;
}

static gr_eta_rest rest_of(const run *r, int done) {
  return (gr_eta_rest){
      .steps = r->steps - done,
      .units = {left_of(r, r->eval_every, done) * r->eval_batches + r->final_batches,
                left_of(r, r->save_every, done)},
      .unit_steps = {1 / 3.0, 0},
  };
}

// The times of all steps, and what was expected to be left after each; the time at the end.
static double walk(const run *r, double *ended, double *left) {
  gr_eta e = {0};
  double now = 1000;
  for (int i = 1; i <= r->steps; i++) {
    now += i == 1 ? r->first : i <= r->steps / 10 ? r->slow : r->step;
    gr_eta_step(&e, now);
    ended[i] = now;
    gr_eta_rest rest = rest_of(r, i - (r->eval_every && i % r->eval_every == 0));
    rest.steps = r->steps - i;
    left[i] = gr_eta_left(&e, now, &rest);
    if (r->save_every && i % r->save_every == 0)
      now += r->save, gr_eta_interrupted(&e, GR_ETA_CHECKPOINT, r->save, 1);
    double eval = r->eval_batch * r->eval_batches;
    if (r->eval_every && i % r->eval_every == 0)
      now += eval, gr_eta_interrupted(&e, GR_ETA_EVALUATION, eval, r->eval_batches);
  }
  return now + r->eval_batch * r->final_batches;
}

static void within_two(void) {
  static double ended[1001], left[1001];
  for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
    const run *r = &runs[k];
    double end = walk(r, ended, left);
    for (int i = r->steps / 20; i < r->steps; i++) {
      double truth = end - ended[i];
      CHECK(left[i] > truth / 2 - 0.01 && left[i] < 2 * truth + 0.01,
            "%s: after %d of %d steps %g s are expected, but %g s are left", r->name, i, r->steps,
            left[i], truth);
    }
  }
}

static void unknown(void) {
  gr_eta e = {0};
  gr_eta_rest rest = {.steps = 9};
  CHECK(gr_eta_left(&e, 5, &rest) < 0, "before the first step");
  gr_eta_step(&e, 5);
  CHECK(gr_eta_left(&e, 5, &rest) < 0, "the first step says nothing of the others");
  gr_eta_interrupted(&e, GR_ETA_EVALUATION, 100, 10);
  gr_eta_step(&e, 107);
  CHECK(gr_eta_left(&e, 107, &rest) == 18, "%g", gr_eta_left(&e, 107, &rest));
  rest.units[GR_ETA_EVALUATION] = 3;
  CHECK(gr_eta_left(&e, 107, &rest) == 48, "%g", gr_eta_left(&e, 107, &rest));
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"within_two", within_two}, {"unknown", unknown});
}
