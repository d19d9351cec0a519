// test_keep.c - which checkpoints stay, and which of them a run continues from.
#include <math.h>
#include "base/log.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/checkpoint/scratch.h"

static bool has_step(const char *dir, int step) {
  char path[512];
  snprintf(path, sizeof path, "%s/step-%08d/manifest.json", dir, step);
  return !access(path, R_OK);
}

// Of one weight, on one rank.
static gr_saver_spec of_one(const char *dir, int keep_last, int keep_best) {
  static float w[4];
  static gr_tensor_slice p;
  p = gr_tensor_slice_whole("w", "f32", 1, (int64_t[]){4}, w);
  return (gr_saver_spec){.dir = dir,
                         .ranks = 1,
                         .pieces = &p,
                         .n_pieces = 1,
                         .keep_last = keep_last,
                         .keep_best = keep_best,
                         .metric = "cer"};
}

static void pruning(void) {
  const char *dir = scratch_dir("pruning");
  gr_saver_spec spec = of_one(dir, 2, 2);
  static const double cer[] = {0.9, 0.2, 0.5, 0.2, (double)NAN, 0.7, 0.8, 0.9};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  for (int i = 0; i < 8; i++) {
    gr_scalar m = {"cer", GR_SCALAR_FLOAT, .f = cer[i]};
    MUST(gr_saver_begin(s, i, &m, 1));
    MUST(gr_saver_finish(s));
  }
  for (int i = 0; i < 8; i++) {
    bool keep = i == 1 || i == 3 || i >= 6;
    CHECK(has_step(dir, i) == keep, "step %d is %s", i, keep ? "gone" : "still there");
  }
  MUST(gr_saver_begin(s, 2, NULL, 0));  // lower than others: it stays all the same
  MUST(gr_saver_finish(s));
  CHECK(has_step(dir, 2), "what was written last is gone");
  gr_saver_close(s);
  scratch_remove(dir);
}

typedef struct saved {
  double metric;
  int finite, measured;  // measured: the step of the metric
} saved;

// Saves steps 0, 1, ... with these scalars, each in a saver with `spec`, and says which stay.
static const char *kept(gr_saver_spec *spec, const saved *all, int n) {
  static char text[64];
  gr_saver *s;
  scratch_remove(spec->dir);
  mkdir(spec->dir, 0777);
  MUST(gr_saver_open(spec, &s));
  for (int i = 0; i < n; i++) {
    gr_scalar m[] = {{"cer", GR_SCALAR_FLOAT, .f = all[i].metric},
                     {GR_CHECKPOINT_FINITE, GR_SCALAR_INT, .i = all[i].finite},
                     {GR_CHECKPOINT_MEASURED, GR_SCALAR_INT, .i = all[i].measured}};
    MUST(gr_saver_begin(s, i, m, 3));
    MUST(gr_saver_finish(s));
  }
  gr_saver_close(s);
  *text = 0;
  for (int i = 0; i < n; i++)
    if (has_step(spec->dir, i)) sprintf(text + strlen(text), "%d ", i);
  return text;
}

static void same_steps(const char *has, const char *want, const char *what) {
  CHECK(!strcmp(has, want), "%s: %s stay, not %s", what, has, want);
}

// The best of equal ones is the earliest; less or more is better as `metric_max` says; without a
// metric none is best; and NaN, infinities and what was measured elsewhere are not.
static void bests(void) {
  const char *dir = scratch_dir("bests");
  static const saved all[] = {{0.9, 1, 0}, {0.2, 1, 1}, {0.2, 1, 2},
                              {0.9, 1, 3}, {0.5, 1, 4}, {0.5, 1, 5}};
  gr_saver_spec spec = of_one(dir, 1, 1);
  same_steps(kept(&spec, all, 6), "1 5 ", "the least");
  spec.metric_max = true;
  same_steps(kept(&spec, all, 6), "0 5 ", "the most");
  spec.keep_best = 3;
  same_steps(kept(&spec, all, 6), "0 3 4 5 ", "the three that are most");
  spec.metric_max = false;
  same_steps(kept(&spec, all, 6), "1 2 4 5 ", "the three that are least");
  spec.metric = NULL;
  same_steps(kept(&spec, all, 6), "5 ", "no metric");
  spec.metric = "wer";
  same_steps(kept(&spec, all, 6), "5 ", "a metric that is not there");
  static const saved odd[] = {{(double)NAN, 1, 0},
                              {(double)INFINITY, 1, 1},
                              {-(double)INFINITY, 1, 2},
                              {0.5, 1, 3},
                              {0.1, 1, 3},
                              {0.9, 1, 3}};
  spec = of_one(dir, 1, 1);
  same_steps(kept(&spec, odd, 6), "3 5 ", "numbers, measured on the state itself");
  spec.metric_max = true;
  same_steps(kept(&spec, odd, 6), "3 5 ", "... and of the most");
  scratch_remove(dir);
}

// One whose last step was not finite neither counts nor is best, and takes no place.
static void not_finite(void) {
  const char *dir = scratch_dir("finite");
  static const saved all[] = {{0.9, 1, 0}, {0.8, 1, 1}, {0.1, 0, 2}, {0.1, 0, 3}};
  gr_saver_spec spec = of_one(dir, 1, 1);
  gr_checkpoint *c;
  same_steps(kept(&spec, all, 4), "1 3 ", "the newest finite one and the newest");
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(c && gr_checkpoint_step(c) == 1, "resume takes another than the newest finite one");
  gr_checkpoint_close(c);
  spec.keep_last = 0, spec.keep_best = 0;
  same_steps(kept(&spec, all, 4), "1 3 ", "... whatever the rules");
  static const saved after[] = {{0.9, 1, 0}, {0.1, 0, 1}, {0.8, 1, 2}};
  spec.keep_last = 9;
  same_steps(kept(&spec, after, 3), "0 2 ", "what is not goes as soon as there is one that is");
  static const saved none[] = {{0.9, 0, 0}, {0.8, 0, 1}};
  same_steps(kept(&spec, none, 2), "0 1 ", "without any that is, all");
  MUST(gr_checkpoint_newest(dir, &c));
  CHECK(c && gr_checkpoint_step(c) == 1, "nothing to resume from");
  gr_checkpoint_close(c);
  scratch_remove(dir);
}

// Committed without pruning; and abandoned, which leaves nothing and takes nothing.
static void half_ways(void) {
  const char *dir = scratch_dir("ways");
  gr_saver_spec spec = of_one(dir, 1, 0);
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  for (int step = 1; step < 4; step++) {
    MUST(gr_saver_begin(s, step, NULL, 0));
    MUST(step == 3 ? gr_saver_abandon(s) : gr_saver_commit(s));
  }
  CHECK(has_step(dir, 1) && has_step(dir, 2) && !has_step(dir, 3), "commit, commit, abandon");
  CHECK(strstr(gr_saver_last(s), "step-00000002"), "the last is %s", gr_saver_last(s));
  char tmp[300];
  snprintf(tmp, sizeof tmp, "%s/.tmp-step-00000003", dir);
  CHECK(access(tmp, F_OK), "an abandoned one is still there");
  MUST(gr_saver_begin(s, 3, NULL, 0));
  MUST(gr_saver_finish(s));
  CHECK(!has_step(dir, 1) && !has_step(dir, 2) && has_step(dir, 3), "finish prunes");
  gr_saver_close(s);
  scratch_remove(dir);
}

// A run that was killed before it had pruned; and one that was stopped, whose checkpoint is removed
// as soon as there is a newer, and is never among the best.
static void pruning_later(void) {
  const char *dir = scratch_dir("later");
  gr_saver_spec spec = of_one(dir, 9, 1);
  spec.exit_checkpoint = "passing";
  static const double cer[] = {0.9, 0.2, 0.1, 0.5, 0.4, 0.3};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  for (int i = 0; i < 6; i++) {
    gr_scalar m[] = {{"cer", GR_SCALAR_FLOAT, .f = cer[i]}, {"passing", GR_SCALAR_INT, .i = 1}};
    MUST(gr_saver_begin(s, i, m, i == 2 || i == 5 ? 2 : 1));
    MUST(gr_saver_finish(s));
    CHECK(has_step(dir, i), "step %d is gone", i);
  }
  CHECK(!has_step(dir, 2), "what was made in passing is still there");
  gr_saver_close(s);
  spec.keep_last = 2;
  MUST(gr_saver_open(&spec, &s));
  gr_saver_prune(s, 0);
  gr_saver_close(s);
  for (int i = 0; i < 6; i++) {
    bool keep = i == 0 || i == 1 || i >= 4;
    CHECK(has_step(dir, i) == keep, "step %d is %s", i, keep ? "gone" : "still there");
  }
  scratch_remove(dir);
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  return RUN(argc, argv, {"pruning", pruning}, {"bests", bests}, {"not_finite", not_finite},
             {"half_ways", half_ways}, {"pruning_later", pruning_later});
}
