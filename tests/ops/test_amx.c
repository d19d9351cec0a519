// test_amx.c - the product on AMX tiles (ops/kernels/gemm_amx_tiles.inc), compiled for a model of
// the tiles in software, which refuses what the processor refuses; and on the processor, if it has
// them.
//
// The model follows the Intel SDM. TDPBF16PS keeps two sums of each element, of the even and of the
// odd elements along k, with a fused multiply-add each; adds the two; and adds that to the tile.
// Operands that are subnormal count as zero, and results that are become zero.
#include <math.h>
#include "base/rng.h"
#include "ops/kernels/gemm.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

#define TILE_FUNCTION
#define TILE_CONFIG(c) tile_config(c)
#define TILE_ZERO(t) tile_zero(t)
#define TILE_LOAD(t, from, step) tile_load(t, from, step)
#define TILE_STORE(t, to, step) tile_store(t, to, step)
#define TILE_DOT(c, a, b) tile_dot(c, a, b)
#define TILE_RELEASE() tile_release()
static void tile_config(const void *);
static void tile_zero(int t);
static void tile_load(int t, const void *source, int64_t step);
static void tile_store(int t, void *to, int64_t step);
static void tile_dot(int c, int a, int b);
static void tile_release(void);
#include "ops/kernels/gemm_amx_tiles.inc"

// ---- The model ----------------------------------------------------------------------------------

enum { TILES = 8 };
static gr_amx_config config;
static bool in_use;
static unsigned char tile[TILES][GR_AMX_ROWS][GR_AMX_BYTES];
static int refused;  // what the processor would answer with a fault

static void refuse_unless(bool allowed) { refused += !allowed; }

static bool is_set(int t) { return in_use && t < TILES && config.rows[t] && config.bytes[t]; }

static void tile_config(const void *c) {
  memcpy(&config, c, sizeof config);
  refuse_unless(sizeof config == 64 && config.palette == 1 && !config.start_row);
  for (int t = 0; t < 16; t++) {
    bool both = !config.rows[t] == !config.bytes[t];
    refuse_unless(t < TILES ? both && config.rows[t] <= 16 && config.bytes[t] <= 64
                            : !config.rows[t] && !config.bytes[t]);
  }
  for (int i = 0; i < 14; i++) refuse_unless(!config.reserved[i]);
  memset(tile, 0, sizeof tile);
  in_use = true;
}

static void tile_zero(int t) {
  refuse_unless(is_set(t));
  memset(tile[t], 0, sizeof tile[t]);
}

static void tile_load(int t, const void *source, int64_t step) {
  refuse_unless(is_set(t));
  memset(tile[t], 0, sizeof tile[t]);
  for (int i = 0; i < config.rows[t]; i++)
    memcpy(tile[t][i], (const char *)source + i * step, config.bytes[t]);
}

static void tile_store(int t, void *to, int64_t step) {
  refuse_unless(is_set(t));
  for (int i = 0; i < config.rows[t]; i++)
    memcpy((char *)to + i * step, tile[t][i], config.bytes[t]);
}

static float flushed(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0, x) : x; }

static float element(const unsigned char *row, int i) {
  uint16_t bits;
  memcpy(&bits, row + 2 * i, sizeof bits);
  return flushed(gr_float_of_bf16(bits));
}

static void tile_dot(int c, int a, int b) {
  refuse_unless(is_set(a) && is_set(b) && is_set(c) && c != a && c != b && a != b);
  refuse_unless(config.rows[c] == config.rows[a] && config.bytes[c] == config.bytes[b] &&
                config.bytes[a] == 4 * config.rows[b] && config.bytes[b] % 4 == 0);
  for (int i = 0; i < config.rows[c]; i++)
    for (int j = 0; j < config.bytes[c] / 4; j++) {
      float even = 0, odd = 0, sum;
      for (int k = 0; k < config.bytes[a] / 4; k++) {
        even = flushed(fmaf(element(tile[a][i], 2 * k), element(tile[b][k], 2 * j), even));
        odd = flushed(fmaf(element(tile[a][i], 2 * k + 1), element(tile[b][k], 2 * j + 1), odd));
      }
      memcpy(&sum, tile[c][i] + 4 * j, sizeof sum);
      sum = flushed(sum + flushed(even + odd));
      memcpy(tile[c][i] + 4 * j, &sum, sizeof sum);
    }
}

static void tile_release(void) { in_use = false; }

// ---- Products -----------------------------------------------------------------------------------

typedef struct product {
  gr_gemm g;
  uint16_t *a, *b, *packed;
  float *c, *expected;
  int64_t panels;
} product;

enum { GAP = 3 };  // elements between the rows of a and of c, which belong to others
static const float untouched = -77;

static uint16_t drawn(gr_rng *r, int64_t i, bool small) {
  return gr_bf16((float)(gr_rng_normal(r, (uint64_t)i) * (small ? 1e-20 : 1)));
}

static product product_of(int64_t m, int64_t n, int64_t k, bool small) {
  product p = {.g = gr_gemm_dense(false, false, m, n, k), .panels = (n + 47) / 48};
  gr_rng r = gr_rng_make((uint64_t)(m * 10007 + n * 101 + k), "amx", 0);
  p.g.lda = k + GAP, p.g.ldc = n + GAP;
  p.a = calloc((size_t)(m * p.g.lda), sizeof *p.a), p.b = calloc((size_t)(k * n), sizeof *p.b);
  p.packed = calloc((size_t)(p.panels * 48 * k), sizeof *p.packed);
  p.c = malloc((size_t)(m * p.g.ldc) * sizeof *p.c);
  p.expected = malloc((size_t)(m * p.g.ldc) * sizeof *p.c);
  for (int64_t i = 0; i < m * p.g.lda; i++) p.a[i] = drawn(&r, i, small);
  for (int64_t i = 0; i < k * n; i++) p.b[i] = drawn(&r, 1 << 20 | i, small);
  for (int64_t i = 0; i < m * p.g.ldc; i++) p.c[i] = p.expected[i] = untouched;
  gr_gemm_bf16_pack(&p.g, p.b, p.packed);
  return p;
}

static void product_free(product *p) {
  free(p->a), free(p->b), free(p->packed), free(p->c), free(p->expected);
}

// An element in the order of the instruction, from the operands as they are stored.
static float summed(const product *p, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t first = 0; first < p->g.k; first += 32) {
    float part[2] = {0};
    for (int64_t k = first; k < gr_min_i64(p->g.k, first + 32); k++)
      part[k % 2] = flushed(fmaf(flushed(gr_float_of_bf16(p->a[i * p->g.lda + k])),
                                 flushed(gr_float_of_bf16(p->b[k * p->g.n + j])), part[k % 2]));
    sum = flushed(sum + flushed(part[0] + part[1]));
  }
  return sum;
}

static void try_product(int64_t m, int64_t n, int64_t k, bool small) {
  product p = product_of(m, n, k, small);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) p.expected[i * p.g.ldc + j] = summed(&p, i, j);
  refused = 0;
  for (int64_t panel = 0, to; panel < p.panels; panel = to) {  // as threads divide them
    to = gr_min_i64(p.panels, panel + 2);
    gr_amx_panels(&p.g, p.a, p.packed, p.c, panel, to);
  }
  CHECK(!refused, "%lld x %lld x %lld: the processor refuses %d instructions", (long long)m,
        (long long)n, (long long)k, refused);
  CHECK(!in_use, "the tiles are not released");
  CHECK(!memcmp(p.c, p.expected, (size_t)(m * p.g.ldc) * sizeof *p.c),
        "%lld x %lld x %lld: other bits", (long long)m, (long long)n, (long long)k);
  if (gr_gemm_amx()) {
    for (int64_t i = 0; i < m * p.g.ldc; i++) p.c[i] = untouched;
    gr_gemm_amx_panels(&p.g, p.a, p.packed, p.c, 0, p.panels);
    CHECK(!memcmp(p.c, p.expected, (size_t)(m * p.g.ldc) * sizeof *p.c),
          "%lld x %lld x %lld: other bits on the processor", (long long)m, (long long)n,
          (long long)k);
  }
  product_free(&p);
}

static void shapes(void) {
  static const int64_t rows[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 40};
  static const int64_t columns[] = {1, 15, 16, 17, 31, 47, 48, 49, 64, 96, 130};
  static const int64_t depths[] = {2, 4, 30, 32, 34, 62, 64, 70, 128};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
      for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
        try_product(rows[i], columns[j], depths[k], false);
  if (!gr_gemm_amx()) printf("     this processor has no AMX: only the model ran\n");
}

// Products that are subnormal, or operands: bf16 has the exponents of f32.
static void subnormal(void) {
  try_product(8, 50, 70, true);
  try_product(16, 48, 64, true);
}

// What is chosen on this processor gives the sums, in whatever order.
static void chosen(void) {
  product p = product_of(8, 130, 512, false);
  gr_gemm_bf16_by_packed(&(gr_launch){0}, &p.g, p.a, p.packed, p.c);
  for (int64_t i = 0; i < 8; i++)
    for (int64_t j = 0; j < 130; j++) {
      double want = (double)summed(&p, i, j), got = (double)p.c[i * p.g.ldc + j];
      CHECK(fabs(got - want) <= 1e-4 * (1 + fabs(want)), "%g instead of %g", got, want);
    }
  product_free(&p);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"shapes", shapes}, {"subnormal", subnormal}, {"chosen", chosen});
}
