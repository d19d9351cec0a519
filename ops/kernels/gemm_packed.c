// gemm_packed.c - the built-in sgemm for many rows: a and b are packed for a range of k at a time,
// so that a tile reads memory sequentially (K. Goto, R. van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication", ACM TOMS 34(3), 2008). All threads pack, then all multiply. Each element
// of c is summed over k in an order that depends on k alone.
#include <pthread.h>
#include <stdlib.h>
#include "base/port.h"
#include "ops/kernels/gemm_tile.h"
#include "ops/kernels/operands.h"

enum { COLS = 2, ROWS = SUMS / COLS, WIDE = COLS * LANES };
// The size of a block: its columns of b stay in the L2 cache while block after block of rows of a
// is multiplied with them.
enum { BLOCK_ROWS = 16 * ROWS, BLOCK_COLS = 12 * WIDE };
// The rows of a and columns of b that are packed at a time.
enum { MAX_ROWS = 2048 / BLOCK_ROWS * BLOCK_ROWS, MAX_COLS = 1536 / BLOCK_COLS * BLOCK_COLS };
enum { QUAD = 4 };

// The packing buffers of a thread, allocated at its first large GEMM and freed when it exits. As a
// _Thread_local it would cost clearing megabytes whenever a thread starts; as a local variable it
// could exceed the thread's stack.
typedef struct packed {
  float a[MAX_ROWS * DEPTH], b[MAX_COLS * DEPTH];
} packed;

static pthread_key_t key;
static bool has_key;
static void make_key(void) { has_key = !pthread_key_create(&key, free); }

static packed *thread_buffers(void) {
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

// Transposes a 4 x 4 block.
INLINE void transpose_quad(const float *x, int64_t row, float *out, int64_t side) {
  quad r[QUAD], s[QUAD];
  UNROLL for (int i = 0; i < QUAD; i++) r[i] = *(const quad_at *)(x + i * row);
  s[0] = SHUFFLE(r[0], r[1], 0, 4, 1, 5), s[1] = SHUFFLE(r[0], r[1], 2, 6, 3, 7);
  s[2] = SHUFFLE(r[2], r[3], 0, 4, 1, 5), s[3] = SHUFFLE(r[2], r[3], 2, 6, 3, 7);
  *(quad_at *)out = SHUFFLE(s[0], s[2], 0, 1, 4, 5);
  *(quad_at *)(out + side) = SHUFFLE(s[0], s[2], 2, 3, 6, 7);
  *(quad_at *)(out + 2 * side) = SHUFFLE(s[1], s[3], 0, 1, 4, 5);
  *(quad_at *)(out + 3 * side) = SHUFFLE(s[1], s[3], 2, 3, 6, 7);
}

INLINE void pack_any(const float *x, walk w, int64_t begin, int64_t rows, int64_t first,
                     int64_t depth, float *out, int64_t side) {
  for (int64_t p = first; p < depth; p++)
    for (int64_t i = begin; i < side; i++)
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
  for (; whole && i + QUAD <= gr_min_i64(side, rows); i += QUAD)
    for (int64_t p = 0; p < whole; p += QUAD)
      transpose_quad(x + i * w.row + p, w.row, out + p * side + i, side);
  if (whole) pack_any(x, w, i, rows, 0, whole, out, side);
  pack_any(x, w, 0, rows, whole, depth, out, side);
}

// ---- Multiplying ------------------------------------------------------------------------------

// A tile that extends beyond the edge of c is computed in a buffer and copied in part.
static void edge(const float *a, const float *b, float *c, int64_t ldc, int64_t rows, int64_t cols,
                 int64_t depth, bool add) {
  float beside[ROWS * WIDE] __attribute__((aligned(64)));
  tile(ROWS, COLS, a, (walk){1, ROWS}, b, WIDE, beside, WIDE, depth, false, 0);
  for (int64_t i = 0; i < gr_min_i64(rows, ROWS); i++)
    for (int64_t j = 0; j < gr_min_i64(cols, WIDE); j++)
      c[i * ldc + j] = (add ? c[i * ldc + j] : 0) + beside[i * WIDE + j];
}

// What all threads multiply at a time: m rows of a, n columns of b, and a range of k of size depth.
typedef struct job {
  const float *a, *b;
  float *c;
  walk wa, wb;
  int64_t m, n, depth, ldc;
  bool add;
  packed *packed;
} job;

// Tasks are the panels of b, then the panels of a.
static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const job *x = arg;
  int64_t of_b = (x->n + WIDE - 1) / WIDE, split = gr_max_i64(begin, gr_min_i64(end, of_b));
  for (int64_t i = begin; i < split; i++)
    pack_panel(x->b + i * WIDE * x->wb.row, x->wb, x->n - i * WIDE, x->depth,
               x->packed->b + i * WIDE * x->depth, WIDE);
  for (int64_t i = split - of_b; i < end - of_b; i++)
    pack_panel(x->a + i * ROWS * x->wa.row, x->wa, x->m - i * ROWS, x->depth,
               x->packed->a + i * ROWS * x->depth, ROWS);
}

static void block(const job *x, int64_t row, int64_t col) {
  for (int64_t j = col; j < gr_min_i64(x->n, col + BLOCK_COLS); j += WIDE)
    for (int64_t i = row; i < gr_min_i64(x->m, row + BLOCK_ROWS); i += ROWS) {
      const float *a = x->packed->a + i * x->depth, *b = x->packed->b + j * x->depth;
      float *out = x->c + i * x->ldc + j;
      if (i + ROWS <= x->m && j + WIDE <= x->n)
        tile(ROWS, COLS, a, (walk){1, ROWS}, b, WIDE, out, x->ldc, x->depth, x->add, 0);
      else
        edge(a, b, out, x->ldc, x->m - i, x->n - j, x->depth, x->add);
    }
}

static void blocks(void *arg, int64_t begin, int64_t end) {
  const job *x = arg;
  int64_t down = (x->m + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (int64_t i = begin; i < end; i++) block(x, i % down * BLOCK_ROWS, i / down * BLOCK_COLS);
}

static void gemm_packed_run(const gr_launch *l, job *x) {
  gr_parallel(l, (x->m + ROWS - 1) / ROWS + (x->n + WIDE - 1) / WIDE, 1, pack_panels, x);
  gr_parallel(l, ((x->m + BLOCK_ROWS - 1) / BLOCK_ROWS) * ((x->n + BLOCK_COLS - 1) / BLOCK_COLS), 1,
              blocks, x);
}

void gr_gemm_packed_by(const gr_launch *l, const gr_gemm *g, const float *a, const float *b,
                       float *c) {
  job x = {.ldc = g->ldc, .packed = thread_buffers()};
  if (!x.packed) {  // out of memory: fall back to the kernel that needs none
    gr_gemm_plain(g, a, b, c);
    return;
  }
  x.wa = g->ta ? (walk){1, g->lda} : (walk){g->lda, 1};
  x.wb = g->tb ? (walk){g->ldb, 1} : (walk){1, g->ldb};
  for (int64_t j = 0; j < g->n; j += MAX_COLS)
    for (int64_t i = 0; i < g->m; i += MAX_ROWS)
      for (int64_t p = 0; p < g->k; p += DEPTH) {
        x.n = gr_min_i64(MAX_COLS, g->n - j), x.m = gr_min_i64(MAX_ROWS, g->m - i);
        x.depth = gr_min_i64(DEPTH, g->k - p), x.add = g->add || p;
        x.a = a + i * x.wa.row + p * x.wa.col, x.b = b + j * x.wb.row + p * x.wb.col;
        x.c = c + i * g->ldc + j;
        gemm_packed_run(l, &x);
      }
}

void gr_gemm_packed(const gr_gemm *g, const float *a, const float *b, float *c) {
  gr_gemm_packed_by(&(gr_launch){0}, g, a, b, c);
}
