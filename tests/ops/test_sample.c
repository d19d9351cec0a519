// test_sample.c - random numbers of each step have their distribution, are other ones in each step,
// and are the same for the same seed, stream and step.
#include <math.h>
#include <string.h>
#include "ops/kernels/sample.h"
#include "ops/ops.h"
#include "tests/check.h"

enum { N = 60000, CLASSES = 4 };
static float x[N * CLASSES], y[N];
static int32_t classes[N];

static void run(const gr_op *op, const gr_type *in, const gr_type *out, void *to, int32_t step) {
  const gr_type types[] = {*in, {.dtype = GR_I32}};
  const void *operands[] = {x, &step};
  gr_launch l = {.attr = &(gr_sample){.seed = 3, .stream = 5},
                 .n_in = 2,
                 .n_out = 1,
                 .in_type = types,
                 .out_type = out,
                 .in = operands,
                 .out = &to};
  MUST(op->cpu(&l));
}

static void moments(double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (int i = 0; i < N; i++) sum += (double)y[i], squares += (double)y[i] * (double)y[i];
  *mean = sum / N, *deviation = sqrt(squares / N - *mean * *mean);
}

// The mean of N numbers is within five of its own deviations, and the deviation likewise.
static void check_moments(const gr_op *op, double mean, double deviation) {
  static float first[N];
  const gr_type t = {.dtype = GR_F32, .rank = 1, .dim = {N}};
  double got, spread;
  run(op, &t, &t, y, 7);
  moments(&got, &spread);
  CHECK(fabs(got - mean) < 5 * deviation / sqrt(N), "%s: mean %g", op->name, got);
  CHECK(fabs(spread - deviation) < 5 * deviation / sqrt(N), "%s: deviation %g", op->name, spread);
  memcpy(first, y, sizeof y);
  run(op, &t, &t, y, 7);
  CHECK(!memcmp(first, y, sizeof y), "%s: the same step gives other numbers", op->name);
  run(op, &t, &t, y, 8);
  int same = 0;
  for (int i = 0; i < N; i++) same += first[i] == y[i];
  CHECK(same < 10, "%s: two steps have %d numbers in common", op->name, same);
}

static void uniform(void) { check_moments(&gr_op_sample_uniform, 0.5, sqrt(1.0 / 12)); }
static void normal(void) { check_moments(&gr_op_sample_normal, 0, 1); }

static void categorical(void) {
  static const double p[CLASSES] = {0.1, 0.6, 0, 0.3};
  const gr_type in = {.dtype = GR_F32, .rank = 2, .dim = {N, CLASSES}},
                out = {.dtype = GR_I32, .rank = 1, .dim = {N}};
  int count[CLASSES] = {0};
  for (int i = 0; i < N * CLASSES; i++) x[i] = (float)(log(p[i % CLASSES]) + 2);
  run(&gr_op_sample_categorical, &in, &out, classes, 1);
  for (int i = 0; i < N; i++) count[classes[i]]++;
  for (int c = 0; c < CLASSES; c++)
    CHECK(fabs(count[c] - p[c] * N) <= 5 * sqrt(p[c] * (1 - p[c]) * N), "class %d: %d of %d", c,
          count[c], N);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"uniform", uniform}, {"normal", normal}, {"categorical", categorical});
}
