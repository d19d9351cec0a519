// test_sample.c - random numbers of each step have their distribution, are other ones in each step,
// and are the same for the same seed, stream and step.
#include <math.h>
#include <stdlib.h>
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

// ---- Minibatches
// ----------------------------------------------------------------------------------

enum { PASSES = 3000 };

// Run `step` on rows 0 to blocks * size - 1; picked[b]: the row that block b gives.
static void pick(int blocks, int size, int32_t step, float *picked) {
  struct {
    int64_t of, seed;
    uint64_t stream;
    int64_t parts;
  } attr = {blocks, 3, 5, 1};
  const gr_type types[] = {{GR_F32, 1, {blocks * size}}, {.dtype = GR_I32}},
                out = {GR_F32, 1, {blocks}};
  const void *operands[] = {x, &step};
  void *to = picked;
  for (int i = 0; i < blocks * size; i++) x[i] = (float)i;
  MUST(gr_op_minibatch.cpu(&(gr_launch){.attr = &attr,
                                        .n_in = 2,
                                        .n_out = 1,
                                        .in_type = types,
                                        .out_type = &out,
                                        .in = operands,
                                        .out = &to}));
}

// A pass has every row once, each minibatch one of every block, and another order in each pass.
static void minibatch(void) {
  static const int sizes[] = {1, 2, 3, 5, 16, 17, 1000};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    int size = sizes[k], blocks = 6, same = 0;
    static bool seen[N];
    static float first[N], now[6];
    for (int pass = 0; pass < 2; pass++) {
      memset(seen, 0, sizeof seen);
      for (int i = 0; i < size; i++) {
        pick(blocks, size, pass * size + i, now);
        for (int b = 0; b < blocks; b++) {
          int row = (int)now[b];
          CHECK(row / size == b && !seen[row], "block %d of %d: row %d", b, size, row);
          seen[row] = true;
          if (pass) same += first[i * blocks + b] == now[b];
          first[i * blocks + b] = now[b];
        }
      }
    }
    CHECK(size < 1000 || same < 40, "two passes of %d have %d places in common", size, same);
  }
}

// Every row of a block comes at every place of a pass equally often, and so does every order.
static void minibatch_orders(void) {
  int place[3][3] = {{0}}, orders[27] = {0};
  float now[2];
  for (int pass = 0; pass < PASSES; pass++) {
    int order = 0;
    for (int i = 0; i < 3; i++) {
      pick(2, 3, 3 * pass + i, now);
      place[i][(int)now[1] - 3]++, order = 3 * order + (int)now[1] - 3;
    }
    orders[order]++;
  }
  for (int i = 0; i < 3; i++)
    for (int row = 0; row < 3; row++)
      CHECK(abs(place[i][row] - PASSES / 3) < 150, "row %d at place %d: %d", row, i, place[i][row]);
  for (int i = 0; i < 27; i++)
    CHECK(!orders[i] || abs(orders[i] - PASSES / 6) < 120, "order %d: %d", i, orders[i]);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"uniform", uniform}, {"normal", normal}, {"categorical", categorical},
             {"minibatch", minibatch}, {"minibatch_orders", minibatch_orders});
}
