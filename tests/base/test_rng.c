// test_rng.c - random numbers: known answers, the same in blocks, moments, shuffles.
#include <math.h>
#include <stdlib.h>
#include "base/base.h"
#include "tests/check.h"

// The known answers that come with Random123 (kat_vectors, philox4x32, 10 rounds).
static void philox_known_answers(void) {
  uint32_t w[4];
  gr_philox(0, 0, 0, w);
  CHECK(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d && w[2] == 0xbc57ac4c && w[3] == 0x9b00dbd8,
        "zeros: %08x %08x %08x %08x", w[0], w[1], w[2], w[3]);
  gr_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
  CHECK(w[0] == 0x408f276d && w[1] == 0x41c83b0e && w[2] == 0xa20bc7c6 && w[3] == 0x6d5451fd,
        "ones: %08x %08x %08x %08x", w[0], w[1], w[2], w[3]);
}

static void rng_blocks_are_blocks(void) {
  gr_rng r = gr_rng_make(7, "test", 3);
  uint32_t many[37 * 4], one[4];
  gr_rng_blocks(&r, 1000, 37, many);
  for (uint64_t b = 0; b < 37; b++) {
    gr_rng_block(&r, 1000 + b, one);
    CHECK(!memcmp(one, many + 4 * b, sizeof one), "block %d", (int)b);
  }
}

// Many at once are those that single calls give, wherever they begin and end.
static void rng_many_at_once(void) {
  gr_rng r = gr_rng_make(7, "test", 3);
  double many[700];
  for (uint64_t first = 0; first < 9; first++)
    for (int64_t n = 0; n < 700; n = 2 * n + 1) {
      int wrong = 0;
      gr_rng_uniforms(&r, first, n, many);
      for (int64_t i = 0; i < n; i++) wrong += many[i] != gr_rng_uniform(&r, first + (uint64_t)i);
      gr_rng_normals(&r, first, n, many);
      for (int64_t i = 0; i < n; i++) wrong += many[i] != gr_rng_normal(&r, first + (uint64_t)i);
      CHECK(!wrong, "%d of %d numbers from %d on", wrong, (int)n, (int)first);
    }
}

// Floats are the same numbers, rounded, wherever they begin and end.
static void rng_floats(void) {
  gr_rng r = gr_rng_make(7, "test", 3);
  enum { MOST = 1 << 18 };
  float *many = malloc(MOST * sizeof *many);
  for (uint64_t first = 0; first < 9; first++)
    for (int64_t n = 0; n <= MOST; n = n < 700 ? 2 * n + 1 : n < MOST && !first ? MOST : MOST + 1) {
      int wrong = 0;
      gr_rng_uniforms_f32(&r, first, n, many);
      for (int64_t i = 0; i < n; i++)
        wrong += many[i] != (float)gr_rng_uniform(&r, first + (uint64_t)i);
      gr_rng_normals_f32(&r, first, n, many);
      for (int64_t i = 0; i < n; i++)
        wrong += many[i] != (float)gr_rng_normal(&r, first + (uint64_t)i);
      CHECK(!wrong, "%d of %d numbers from %d on", wrong, (int)n, (int)first);
    }
  free(many);
}

// Numbers so near the middle between two floats that what vectors compute is on its other side, and
// others among them: of 150 million numbers these four.
static void rng_floats_between(void) {
  gr_rng r = gr_rng_make(7, "test", 3);
  static const uint64_t index[] = {26017933, 126212935, 130957182, 152040176};
  for (size_t i = 0; i < sizeof index / sizeof *index; i++) {
    float x[9];
    int wrong = 0;
    gr_rng_normals_f32(&r, index[i] - 4, 9, x);
    for (uint64_t k = 0; k < 9; k++) wrong += x[k] != (float)gr_rng_normal(&r, index[i] - 4 + k);
    CHECK(!wrong, "%d at %d", wrong, (int)index[i]);
  }
}

static void rng_moments(void) {
  gr_rng r = gr_rng_make(1, "moments", 0), other = gr_rng_make(1, "others", 0);
  double sum = 0, squares = 0, uniform = 0, product = 0;
  enum { N = 100000 };
  for (uint64_t i = 0; i < N; i++) {
    double x = gr_rng_normal(&r, i);
    sum += x, squares += x * x, uniform += gr_rng_uniform(&r, i);
    product += x * gr_rng_normal(&other, i);
  }
  CHECK(fabs(sum / N) < 0.015, "mean %g", sum / N);
  CHECK(fabs(squares / N - 1) < 0.02, "variance %g", squares / N);
  CHECK(fabs(uniform / N - 0.5) < 0.005, "uniform mean %g", uniform / N);
  CHECK(fabs(product / N) < 0.015, "streams are correlated: %g", product / N);
}

static void shuffle_is_a_permutation(void) {
  gr_rng r = gr_rng_make(1, "order", 5);
  uint32_t order[1000];
  bool seen[1000] = {false};
  int fixed = 0;
  gr_rng_shuffle(&r, order, 1000);
  for (uint32_t i = 0; i < 1000; i++) {
    CHECK(order[i] < 1000 && !seen[order[i]], "item %u twice", order[i]);
    seen[order[i] % 1000] = true;
    fixed += order[i] == i;
  }
  CHECK(fixed < 10, "%d stayed where they were", fixed);
}

// Each of the six orders of three comes up about as often: 6,000 draws have a deviation of 29.
static void shuffles_are_uniform(void) {
  int seen[6] = {0};
  for (uint64_t step = 0; step < 6000; step++) {
    uint32_t order[3];
    gr_rng r = gr_rng_make(1, "orders", step);
    gr_rng_shuffle(&r, order, 3);
    seen[2 * order[0] + (order[1] > order[2])]++;
  }
  for (int i = 0; i < 6; i++) CHECK(seen[i] > 850 && seen[i] < 1150, "order %d: %d", i, seen[i]);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"philox_known_answers", philox_known_answers},
             {"rng_blocks_are_blocks", rng_blocks_are_blocks},
             {"rng_many_at_once", rng_many_at_once}, {"rng_floats", rng_floats},
             {"rng_floats_between", rng_floats_between}, {"rng_moments", rng_moments},
             {"shuffle_is_a_permutation", shuffle_is_a_permutation},
             {"shuffles_are_uniform", shuffles_are_uniform});
}
