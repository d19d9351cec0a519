// permute.c - see permute.h. Axes that stay adjacent are merged. Then either the last axis stays
// last, and rows are copied; or the permutation is a batch of matrix transposes, done in tiles.
#include "ops/kernels/permute.h"

typedef struct moves {
  gr_permutation p;
  int64_t blocks;  // strips of each matrix
  int64_t bytes;   // of an element: 4 or 2
  const char *x;
  char *y;
} moves;

static void append(gr_permutation *p, int64_t size, int64_t outer, int64_t inner) {
  if (size == 1) return;
  if (p->rank && p->in_stride[p->rank - 1] == outer) {  // adjacent in x as well: merge
    p->size[p->rank - 1] *= size;
    p->in_stride[p->rank - 1] = inner;
  } else {
    p->size[p->rank] = size;
    p->in_stride[p->rank++] = inner;
  }
}

gr_permutation gr_permutation_of(const gr_type *x, const gr_ints *perm) {
  gr_permutation p = {0};
  int64_t stride[GR_MAX_RANK + 1];
  stride[x->rank] = 1;
  for (int d = x->rank; d--;) stride[d] = stride[d + 1] * x->dim[d];
  for (int64_t o = 0; o < perm->n; o++) {
    int64_t d = perm->items[o];
    append(&p, x->dim[d], stride[d], stride[d + 1]);
  }
  if (!p.rank) p.size[0] = p.in_stride[0] = p.rank = 1;
  for (int o = p.rank; o--;) {
    p.out_stride[o] = o + 1 < p.rank ? p.out_stride[o + 1] * p.size[o + 1] : 1;
    if (p.in_stride[o] == 1) p.row = o;
  }
  return p;
}

// The first elements, in x and y, of index combination p of the axes before `axes`, except `row`.
static void offset_of(const moves *m, int axes, int64_t p, const char **x, char **y) {
  int64_t source = 0, target = 0;
  for (int o = axes; o--;) {
    if (o == m->p.row) continue;
    source += p % m->p.size[o] * m->p.in_stride[o];
    target += p % m->p.size[o] * m->p.out_stride[o];
    p /= m->p.size[o];
  }
  *x = m->x + source * m->bytes, *y = m->y + target * m->bytes;
}

// A few elements, for which memcpy's call costs more than the copy.
static void copy_few(const moves *m, const char *x, char *y, int64_t n) {
  if (m->bytes == 4)
    for (int64_t k = 0; k < n; k++) ((float *)y)[k] = ((const float *)x)[k];
  else
    for (int64_t k = 0; k < n; k++) ((uint16_t *)y)[k] = ((const uint16_t *)x)[k];
}

// The last axis is also last in x: each task copies the last two axes, row by row.
static void copy_rows(void *arg, int64_t begin, int64_t end) {
  const moves *m = arg;
  int rows = m->p.rank - 2;
  int64_t run = m->p.size[rows + 1], bytes = run * m->bytes;
  for (int64_t p = begin; p < end; p++) {
    const char *x;
    char *y;
    offset_of(m, rows, p, &x, &y);
    for (int64_t i = 0; i < m->p.size[rows]; i++, x += m->p.in_stride[rows] * m->bytes, y += bytes)
      if (run < 16)
        copy_few(m, x, y, run);
      else
        memcpy(y, x, (size_t)bytes);
  }
}

// ---- Tiles ----------------------------------------------------------------------------------
// The rows of a matrix are x's last axis, its columns y's last axis: y[a][b] = x[b][a]. A tile is
// as wide as a vector register; with 16 numbers, both of its sides are whole cache lines.

static void transpose_scalar(const float *x, int64_t xs, float *y, int64_t ys, int64_t a,
                             int64_t b) {
  for (int64_t i = 0; i < a; i++)
    for (int64_t j = 0; j < b; j++) y[i * ys + j] = x[j * xs + i];
}

#ifdef __AVX512F__
enum { TILE = 16 };
#else
enum { TILE = 8 };
#endif
enum { STRIP = 4 * TILE };

#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
typedef float vec __attribute__((vector_size(4 * TILE)));

// Swaps the off-diagonal blocks of size s in rows i and i + s; doing so for s = 1, 2, 4, 8
// transposes a tile.
#ifdef __AVX512F__
#define PICK(f, a, b)                                                                              \
  __builtin_shufflevector(a, b, f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), \
                          f(11), f(12), f(13), f(14), f(15))
#else
#define PICK(f, a, b) __builtin_shufflevector(a, b, f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7))
#endif
#define UPPER(s, j) ((j) & (s) ? TILE + (j) - (s) : (j))
#define LOWER(s, j) ((j) & (s) ? TILE + (j) : (j) + (s))
#define U1(j) UPPER(1, j)
#define U2(j) UPPER(2, j)
#define U4(j) UPPER(4, j)
#define U8(j) UPPER(8, j)
#define L1(j) LOWER(1, j)
#define L2(j) LOWER(2, j)
#define L4(j) LOWER(4, j)
#define L8(j) LOWER(8, j)
#define SWAP(s)                                           \
  for (int i = 0; i < TILE; i++) {                        \
    if (i & s) continue;                                  \
    vec a = r[i], b = r[i + s];                           \
    r[i] = PICK(U##s, a, b), r[i + s] = PICK(L##s, a, b); \
  }

static inline void tile(const float *x, int64_t xs, float *y, int64_t ys) {
  vec r[TILE];
  for (int i = 0; i < TILE; i++) memcpy(&r[i], x + i * xs, sizeof r[i]);
#ifdef __AVX512F__
  SWAP(8)
#endif
  SWAP(4)
  SWAP(2)
  SWAP(1)
  for (int i = 0; i < TILE; i++) memcpy(y + i * ys, &r[i], sizeof r[i]);
}
#else
static inline void tile(const float *x, int64_t xs, float *y, int64_t ys) {
  transpose_scalar(x, xs, y, ys, TILE, TILE);
}
#endif

// Transposes a strip of y: `a` rows of `b` elements.
static void strip(const float *x, int64_t xs, float *y, int64_t ys, int64_t a, int64_t b) {
  int64_t whole_a = a / TILE * TILE, whole_b = b / TILE * TILE;
  for (int64_t j = 0; j < whole_b; j += TILE)
    for (int64_t i = 0; i < whole_a; i += TILE) tile(x + j * xs + i, xs, y + i * ys + j, ys);
  transpose_scalar(x + whole_b * xs, xs, y + whole_b, ys, whole_a, b - whole_b);
  transpose_scalar(x + whole_a, xs, y + whole_a * ys, ys, a - whole_a, b);
}

// Elements of two bytes, in blocks of whose rows and columns the cache lines stay in the L1 cache.
static void strip_narrow(const uint16_t *x, int64_t xs, uint16_t *y, int64_t ys, int64_t a,
                         int64_t b) {
  for (int64_t begin = 0; begin < b; begin += STRIP)
    for (int64_t i = 0; i < a; i++)
      for (int64_t j = begin, end = b < begin + STRIP ? b : begin + STRIP; j < end; j++)
        y[i * ys + j] = x[j * xs + i];
}

static void transpose_strips(void *arg, int64_t begin, int64_t end) {
  const moves *m = arg;
  int last = m->p.rank - 1;
  for (int64_t p = begin; p < end; p++) {
    const char *x;
    char *y;
    offset_of(m, last, p / m->blocks, &x, &y);
    int64_t i = p % m->blocks * STRIP, rows = m->p.size[m->p.row] - i,
            step = m->p.out_stride[m->p.row];
    rows = rows < STRIP ? rows : STRIP;
    x += i * m->bytes, y += i * step * m->bytes;
    if (m->bytes == 4)
      strip((const float *)x, m->p.in_stride[last], (float *)y, step, rows, m->p.size[last]);
    else
      strip_narrow((const uint16_t *)x, m->p.in_stride[last], (uint16_t *)y, step, rows,
                   m->p.size[last]);
  }
}

void gr_permute(const gr_launch *l, const gr_type *x_type, const gr_ints *perm, const void *x,
                void *y) {
  moves m = {.p = gr_permutation_of(x_type, perm), .bytes = gr_dtypes[x_type->dtype].size};
  int64_t n = gr_type_count(x_type), run = m.p.size[m.p.rank - 1];
  m.x = x, m.y = y;
  if (m.p.rank == 1) {
    gr_copy_rows(l, y, m.bytes * n, x, m.bytes * n, m.bytes * n, 1);
  } else if (m.p.row == m.p.rank - 1) {
    int64_t piece = run * m.p.size[m.p.rank - 2];
    gr_parallel(l, n / piece, 1 + 8192 / piece, copy_rows, &m);
  } else {
    m.blocks = (m.p.size[m.p.row] + STRIP - 1) / STRIP;
    gr_parallel(l, n / run / m.p.size[m.p.row] * m.blocks, 1 + 8192 / (run * STRIP),
                transpose_strips, &m);
  }
}
