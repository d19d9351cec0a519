// gemm_packed.c - our own sgemm for many rows, on the calling thread: blocks of a and b are copied
// so that a tile walks through memory in one line (K. Goto, R. van de Geijn, Anatomy of
// High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008). Each element of c is summed over k
// in an order that depends on k alone.
#include <pthread.h>
#include <stdlib.h>
#include "base/port.h"
#include "ops/gemm_tile.h"
#include "ops/nn.h"

enum { COLS = 2, ROWS = SUMS / COLS, WIDE = COLS * LANES };
enum { HIGH = 16 * ROWS };   // rows of a packed at a time: they stay in the second-level cache
enum { BROAD = 32 * WIDE };  // columns of b
enum { QUAD = 4 };

// A thread's, from its first large product until it ends. As _Thread_local it would be cleared, a
// megabyte, whenever a thread or a program starts; as a local it can be more than a thread's stack.
typedef struct packed {
  float a[HIGH * DEPTH], b[BROAD * DEPTH];
} packed;

static pthread_key_t key;
static bool has_key;
static void make_key(void) { has_key = !pthread_key_create(&key, free); }

static packed *own(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  packed *x = has_key ? pthread_getspecific(key) : NULL;
  if (x || !has_key) return x;
  x = gr_large_alloc(sizeof *x);
  if (!pthread_setspecific(key, x)) return x;
  free(x);
  return NULL;
}

// ---- Packing: element [i,p] of x goes to out[p * side + i], zero where i is not below `rows` ---

typedef float quad __attribute__((vector_size(QUAD * 4)));
typedef float quad_at __attribute__((vector_size(QUAD * 4), aligned(4), may_alias));
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// Four rows of four.
INLINE void turn(const float *x, int64_t row, float *out, int64_t side) {
  quad r[QUAD], s[QUAD];
  UNROLL for (int i = 0; i < QUAD; i++) r[i] = *(const quad_at *)(x + i * row);
  s[0] = SHUFFLE(r[0], r[1], 0, 4, 1, 5), s[1] = SHUFFLE(r[0], r[1], 2, 6, 3, 7);
  s[2] = SHUFFLE(r[2], r[3], 0, 4, 1, 5), s[3] = SHUFFLE(r[2], r[3], 2, 6, 3, 7);
  *(quad_at *)out = SHUFFLE(s[0], s[2], 0, 1, 4, 5);
  *(quad_at *)(out + side) = SHUFFLE(s[0], s[2], 2, 3, 6, 7);
  *(quad_at *)(out + 2 * side) = SHUFFLE(s[1], s[3], 0, 1, 4, 5);
  *(quad_at *)(out + 3 * side) = SHUFFLE(s[1], s[3], 2, 3, 6, 7);
}

INLINE void pack_any(const float *x, walk w, int64_t from, int64_t rows, int64_t first,
                     int64_t depth, float *out, int64_t side) {
  for (int64_t p = first; p < depth; p++)
    for (int64_t i = from; i < side; i++)
      out[p * side + i] = i < rows ? x[i * w.row + p * w.col] : 0;
}

INLINE void pack_panel(const float *x, walk w, int64_t rows, int64_t depth, float *out,
                       int64_t side) {
  int64_t i = 0, whole = depth / QUAD * QUAD;
  if (w.row == 1 && rows >= side) {
    for (int64_t p = 0; p < depth; p++)
      for (int64_t e = 0; e < side; e++) out[p * side + e] = x[p * w.col + e];
    return;
  }
  if (w.col != 1) whole = 0;
  for (; whole && i + QUAD <= gr_least(side, rows); i += QUAD)
    for (int64_t p = 0; p < whole; p += QUAD)
      turn(x + i * w.row + p, w.row, out + p * side + i, side);
  if (whole) pack_any(x, w, i, rows, 0, whole, out, side);
  pack_any(x, w, 0, rows, whole, depth, out, side);
}

// Panels of `side` rows, one after another.
INLINE void pack(const float *x, walk w, int64_t rows, int64_t depth, float *out, int64_t side) {
  for (int64_t i = 0; i < rows; i += side)
    pack_panel(x + i * w.row, w, rows - i, depth, out + i * depth, side);
}

// ---- Multiplying ------------------------------------------------------------------------------

// A tile that reaches over the edge of c is made beside it.
static void edge(const float *a, const float *b, float *c, int64_t ldc, int64_t rows, int64_t cols,
                 int64_t depth, bool add) {
  float beside[ROWS * WIDE] __attribute__((aligned(64)));
  tile(ROWS, COLS, a, (walk){1, ROWS}, b, WIDE, beside, WIDE, depth, false, 0);
  for (int64_t i = 0; i < gr_least(rows, ROWS); i++)
    for (int64_t j = 0; j < gr_least(cols, WIDE); j++)
      c[i * ldc + j] = (add ? c[i * ldc + j] : 0) + beside[i * WIDE + j];
}

static void tiles(const packed *x, float *c, int64_t ldc, int64_t rows, int64_t cols, int64_t depth,
                  bool add) {
  for (int64_t j = 0; j < cols; j += WIDE)
    for (int64_t i = 0; i < rows; i += ROWS) {
      const float *a = x->a + i * depth, *b = x->b + j * depth;
      float *at = c + i * ldc + j;
      if (i + ROWS <= rows && j + WIDE <= cols)
        tile(ROWS, COLS, a, (walk){1, ROWS}, b, WIDE, at, ldc, depth, add, 0);
      else
        edge(a, b, at, ldc, rows - i, cols - j, depth, add);
    }
}

void gr_gemm_packed(const gr_gemm *g, const float *a, const float *b, float *c) {
  packed *x = own();
  if (!x) {  // no memory
    gr_gemm_plain(g, a, b, c);
    return;
  }
  walk wa = g->ta ? (walk){1, g->lda} : (walk){g->lda, 1};
  walk wb = g->tb ? (walk){g->ldb, 1} : (walk){1, g->ldb};
  for (int64_t j = 0; j < g->n; j += BROAD)
    for (int64_t p = 0; p < g->k; p += DEPTH) {
      int64_t cols = gr_least(BROAD, g->n - j), depth = gr_least(DEPTH, g->k - p);
      pack(b + j * wb.row + p * wb.col, wb, cols, depth, x->b, WIDE);
      for (int64_t i = 0; i < g->m; i += HIGH) {
        int64_t rows = gr_least(HIGH, g->m - i);
        pack(a + i * wa.row + p * wa.col, wa, rows, depth, x->a, ROWS);
        tiles(x, c + i * g->ldc + j, g->ldc, rows, cols, depth, g->add || p);
      }
    }
}
