// gemm_plain.c - the built-in sgemm that packs nothing but short rows, on the calling thread: tiles
// of c are held in registers as compiler vectors. Each element of c is summed over k in an order
// that depends on k alone, so a row's result does not depend on the number of rows.
#include "ops/kernels/gemm_tile.h"

typedef int32_t mask __attribute__((vector_size(LANES * 4)));

// ---- b not transposed: c[i,:] += a[i,p] b[p,:] -------------------------------------------

enum { ROWS = LANES > 8 ? 8 : 4, COLS = 3 };
typedef void (*tile_kernel)(const float *, walk, const float *, int64_t, float *, int64_t, int64_t,
                            bool, int);
#define TILE(r, n)                                                                          \
  static void tile_##r##_##n(const float *a, walk w, const float *b, int64_t ldb, float *c, \
                             int64_t ldc, int64_t depth, bool add, int skip) {              \
    tile(r, n, a, w, b, ldb, c, ldc, depth, add, skip);                                     \
  }
TILE(1, 1)
TILE(2, 1)
TILE(4, 1)
TILE(1, 2)
TILE(2, 2)
TILE(4, 2)
TILE(1, 3)
TILE(2, 3)
TILE(4, 3)
#if defined(__AVX512F__)
TILE(8, 1)
TILE(8, 2)
TILE(8, 3)
static const tile_kernel tiles[COLS][4] = {{tile_1_1, tile_2_1, tile_4_1, tile_8_1},
                                           {tile_1_2, tile_2_2, tile_4_2, tile_8_2},
                                           {tile_1_3, tile_2_3, tile_4_3, tile_8_3}};
#else
static const tile_kernel tiles[COLS][3] = {
    {tile_1_1, tile_2_1, tile_4_1}, {tile_1_2, tile_2_2, tile_4_2}, {tile_1_3, tile_2_3, tile_4_3}};
#endif

// Computes all rows of a strip of `cols` vectors of columns.
static void column(int cols, const gr_gemm *g, const float *a, walk w, const float *b, float *c,
                   int64_t depth, bool add, int skip) {
  int64_t i = 0;
  for (int size = ROWS, log = ROWS == 8 ? 3 : 2; size; size /= 2, log--)
    for (; i + size <= g->m; i += size)
      tiles[cols - 1][log](a + i * w.row, w, b, g->ldb, c + i * g->ldc, g->ldc, depth, add, skip);
}

// For fewer columns than a vector has lanes. Rows of b are loaded as whole vectors, whose excess
// lanes are ignored, except for the last rows, where the load would read beyond the end of b.
INLINE void narrow_tile(int rows, const gr_gemm *g, const float *a, walk w, const float *b,
                        float *c, int64_t depth, bool add) {
  vec sum[ROWS];
  UNROLL for (int i = 0; i < rows; i++) sum[i] = (vec){0};
  int64_t within = depth - (LANES - g->n + g->ldb - 1) / g->ldb;
  for (int64_t p = 0; p < depth; p++, b += g->ldb) {
    vec row = {0};
    if (p < within) row = load(b);
    for (int64_t j = 0; p >= within && j < g->n; j++) row[j] = b[j];
    UNROLL for (int i = 0; i < rows; i++) sum[i] += a[i * w.row + p * w.col] * row;
  }
  UNROLL for (int i = 0; i < rows; i++) for (int64_t j = 0; j < g->n; j++) c[i * g->ldc + j] =
      (add ? c[i * g->ldc + j] : 0) + sum[i][j];
}

static void narrow(const gr_gemm *g, const float *a, walk w, const float *b, float *c,
                   int64_t depth, bool add) {
  int64_t i = 0;
  for (; i + ROWS <= g->m; i += ROWS)
    narrow_tile(ROWS, g, a + i * w.row, w, b, c + i * g->ldc, depth, add);
  for (; i < g->m; i++) narrow_tile(1, g, a + i * w.row, w, b, c + i * g->ldc, depth, add);
}

static void outer(const gr_gemm *g, const float *a, const float *b, float *c) {
  walk w = g->ta ? (walk){1, g->lda} : (walk){g->lda, 1};
  for (int64_t p = 0; p < g->k; p += DEPTH, a += DEPTH * w.col, b += DEPTH * g->ldb) {
    int64_t depth = g->k - p < DEPTH ? g->k - p : DEPTH, j = 0;
    bool add = g->add || p;
    if (g->n < LANES) narrow(g, a, w, b, c, depth, add);
    if (g->n < LANES) continue;
    for (int cols = COLS; cols; cols--)
      for (; j + cols * LANES <= g->n; j += cols * LANES)
        column(cols, g, a, w, b + j, c + j, depth, add, 0);
    if (j < g->n)
      column(1, g, a, w, b + g->n - LANES, c + g->n - LANES, depth, add, (int)(j - g->n + LANES));
  }
}

// ---- b transposed: c[i,j] = a[i,:] . b[j,:] ------------------------------------------------
// A tile has as many dot products as a vector has lanes. Each accumulates a vector along k; at the
// end, the lanes of all of them are summed together.

enum { TALL = LANES > 4 ? 4 : 2, WIDE = LANES / TALL };
#define LIST(...) __VA_ARGS__
#define FOLD(half, low, high)                                \
  UNROLL for (int i = 0; i < half; i++) v[i] =               \
      __builtin_shufflevector(v[i], v[i + half], LIST low) + \
      __builtin_shufflevector(v[i], v[i + half], LIST high)
// Lane e of the result is the sum of the lanes of v[e], by folding halves, quarters, and so on.
INLINE vec sum_lanes(vec v[LANES]) {
#if defined(__AVX512F__)
  FOLD(8, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
       (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
  FOLD(4, (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
       (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31));
  FOLD(2, (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
       (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31));
  FOLD(1, (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
       (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31));
#elif defined(__AVX2__)
  FOLD(4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
  FOLD(2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
  FOLD(1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
#else
  FOLD(2, (0, 1, 4, 5), (2, 3, 6, 7));
  FOLD(1, (0, 4, 2, 6), (1, 5, 3, 7));
#endif
  return v[0];
}

// Adds the products of one vector of each row of a and of b; keep masks lanes of b.
INLINE void dots_step(int rows, int cols, const gr_gemm *g, const float *a, const float *b,
                      const mask *keep, vec sum[LANES]) {
  vec row[WIDE];
  UNROLL for (int j = 0; j < cols; j++) {
    row[j] = load_once(b + j * g->ldb);
    if (keep) row[j] = (vec)((mask)row[j] & *keep);
  }
  UNROLL for (int i = 0; i < rows; i++) {
    vec f = load_once(a + i * g->lda);
    UNROLL for (int j = 0; j < cols; j++) sum[i * WIDE + j] += f * row[j];
  }
}

INLINE void dots(int rows, int cols, const gr_gemm *g, const float *a, const float *b, float *c) {
  vec sum[LANES];
  UNROLL for (int e = 0; e < LANES; e++) sum[e] = (vec){0};
  int64_t p = 0;
  for (; p + LANES <= g->k; p += LANES) dots_step(rows, cols, g, a + p, b + p, NULL, sum);
  int rest = (int)(g->k - p);
  if (rest && p) {  // the last vector overlaps the previous one, whose lanes are masked
    mask keep;
    for (int e = 0; e < LANES; e++) keep[e] = e >= LANES - rest ? -1 : 0;
    dots_step(rows, cols, g, a + g->k - LANES, b + g->k - LANES, &keep, sum);
    p = g->k;
  }
  vec all = sum_lanes(sum);
  UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < cols; j++) {
    float s = all[i * WIDE + j];
    for (int64_t q = p; q < g->k; q++) s += a[i * g->lda + q] * b[j * g->ldb + q];
    c[i * g->ldc + j] = (g->add ? c[i * g->ldc + j] : 0) + s;
  }
}

static void inner(const gr_gemm *g, const float *a, const float *b, float *c) {
  int64_t wide = g->n / WIDE * WIDE, tall = g->m / TALL * TALL;
  for (int64_t j = 0; j < wide; j += WIDE) {
    const float *bj = b + j * g->ldb;
    for (int64_t i = 0; i < tall; i += TALL)
      dots(TALL, WIDE, g, a + i * g->lda, bj, c + i * g->ldc + j);
    for (int64_t i = tall; i < g->m; i++) dots(1, WIDE, g, a + i * g->lda, bj, c + i * g->ldc + j);
  }
  for (int64_t j = wide; j < g->n; j++)
    for (int64_t i = 0; i < g->m; i++)
      dots(1, 1, g, a + i * g->lda, b + j * g->ldb, c + i * g->ldc + j);
}

// Both operands transposed is not on a hot path, so this kernel is simple rather than fast.
static void both_transposed(const gr_gemm *g, const float *a, const float *b, float *c) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      float s = 0;
      for (int64_t p = 0; p < g->k; p++) s += a[p * g->lda + i] * b[j * g->ldb + p];
      c[i * g->ldc + j] = (g->add ? c[i * g->ldc + j] : 0) + s;
    }
}

// A dense row or column is its own transpose; dot products are faster than tiles of width one.
static gr_gemm simplify(const gr_gemm *g) {
  gr_gemm s = *g;
  if (!s.tb && s.n == 1 && s.ldb == 1) s.tb = true, s.ldb = s.k;
  if (s.ta && s.m == 1 && s.lda == 1) s.ta = false, s.lda = s.k;
  if (s.ta && s.tb && s.n == 1) s.tb = false, s.ldb = 1;
  return s;
}

// ---- b transposed, of short rows ------------------------------------------------------------
// Dot products of less than some vectors spend their time on adding lanes. Strips of b are turned
// first, in memory that stays in the L1 cache, and multiplied as a b that is not transposed.

enum { STRIP = COLS * LANES, SHORT = 2 * LANES };

static void turn(const gr_gemm *g, const float *b, int64_t columns, float *to) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t p = 0; p < g->k; p++) to[p * columns + j] = b[j * g->ldb + p];
}

bool gr_gemm_is_short(const gr_gemm *g) { return g->tb && !g->ta && g->k <= SHORT; }

void gr_gemm_turned(const gr_gemm *g, const float *a, const float *b, float *c) {
  float strip[STRIP * SHORT];
  gr_gemm part = *g;
  part.tb = false;
  for (int64_t j = 0; j < g->n; j += STRIP) {
    part.n = part.ldb = g->n - j < STRIP ? g->n - j : STRIP;
    turn(g, b + j * g->ldb, part.n, strip);
    outer(&part, a, strip, c + j);
  }
}

void gr_gemm_plain(const gr_gemm *given, const float *a, const float *b, float *c) {
  gr_gemm s = simplify(given), *g = &s;
  (g->tb ? g->ta ? both_transposed : inner : outer)(g, a, b, c);
}
