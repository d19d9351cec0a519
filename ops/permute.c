// permute.c - see permute.h. Axes that stay together count as one. Then either the last axis
// stays last, and rows are copied; or it is many transposes of matrices, done in tiles.
#include "ops/permute.h"

typedef struct moves {
  int rank;                   // of y, with merged axes
  int64_t size[GR_MAX_RANK];  // by axis of y
  int64_t from[GR_MAX_RANK];  // its stride in x
  int64_t to[GR_MAX_RANK];    // its stride in y
  int row;                    // the axis with stride 1 in x
  int64_t blocks;             // strips of each matrix
  const float *x;
  float *y;
} moves;

static void append(moves *m, int64_t size, int64_t outer, int64_t inner) {
  if (size == 1) return;
  if (m->rank && m->from[m->rank - 1] == outer) {  // right after the one before, in x too
    m->size[m->rank - 1] *= size;
    m->from[m->rank - 1] = inner;
  } else {
    m->size[m->rank] = size;
    m->from[m->rank++] = inner;
  }
}

static moves merge(const gr_type *x, const gr_ints *perm) {
  moves m = {0};
  int64_t stride[GR_MAX_RANK + 1];
  stride[x->rank] = 1;
  for (int d = x->rank; d--;) stride[d] = stride[d + 1] * x->dim[d];
  for (int64_t o = 0; o < perm->n; o++) {
    int64_t d = perm->at[o];
    append(&m, x->dim[d], stride[d], stride[d + 1]);
  }
  if (!m.rank) m.size[0] = m.from[0] = m.rank = 1;
  for (int o = m.rank; o--;) {
    m.to[o] = o + 1 < m.rank ? m.to[o + 1] * m.size[o + 1] : 1;
    if (m.from[o] == 1) m.row = o;
  }
  return m;
}

// Where piece p of the axes other than `row` and the last begins.
static void begin(const moves *m, int64_t p, const float **x, float **y) {
  *x = m->x, *y = m->y;
  for (int o = m->rank - 1; o--;) {
    if (o == m->row) continue;
    *x += p % m->size[o] * m->from[o];
    *y += p % m->size[o] * m->to[o];
    p /= m->size[o];
  }
}

static void copy_rows(void *arg, int64_t from, int64_t to) {
  const moves *m = arg;
  for (int64_t p = from; p < to; p++) {
    const float *x;
    float *y;
    begin(m, p, &x, &y);
    memcpy(y, x, sizeof *y * (size_t)m->size[m->rank - 1]);
  }
}

// ---- Tiles ----------------------------------------------------------------------------------
// A matrix has its rows along x's last axis and its columns along y's: y[a][b] = x[b][a].

enum { TILE = 8, STRIP = 32 };

static void small(const float *x, int64_t xs, float *y, int64_t ys, int64_t a, int64_t b) {
  for (int64_t i = 0; i < a; i++)
    for (int64_t j = 0; j < b; j++) y[i * ys + j] = x[j * xs + i];
}

#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
typedef float vec __attribute__((vector_size(32)));

static inline vec load(const float *x) {
  vec v;
  memcpy(&v, x, sizeof v);
  return v;
}

#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH4(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

static inline void tile(const float *x, int64_t xs, float *y, int64_t ys) {
  vec r[TILE], s[TILE];
  for (int i = 0; i < TILE; i++) r[i] = load(x + i * xs);
  for (int i = 0; i < TILE; i += 2) s[i] = LOW(r[i], r[i + 1]), s[i + 1] = HIGH(r[i], r[i + 1]);
  for (int i = 0; i < TILE; i += 4) {
    r[i] = LOW2(s[i], s[i + 2]), r[i + 1] = HIGH2(s[i], s[i + 2]);
    r[i + 2] = LOW2(s[i + 1], s[i + 3]), r[i + 3] = HIGH2(s[i + 1], s[i + 3]);
  }
  for (int i = 0; i < 4; i++) s[i] = LOW4(r[i], r[i + 4]), s[i + 4] = HIGH4(r[i], r[i + 4]);
  for (int i = 0; i < TILE; i++) memcpy(y + i * ys, &s[i], sizeof s[i]);
}
#else
static inline void tile(const float *x, int64_t xs, float *y, int64_t ys) {
  small(x, xs, y, ys, TILE, TILE);
}
#endif

// A strip of y: `a` rows of `b`. 16 columns of y at a time: whole cache lines on both sides.
static void strip(const float *x, int64_t xs, float *y, int64_t ys, int64_t a, int64_t b) {
  int64_t a8 = a / TILE * TILE, b8 = b / TILE * TILE;
  for (int64_t j = 0; j < b8; j += 2 * TILE)
    for (int64_t i = 0; i < a8; i += TILE) {
      tile(x + j * xs + i, xs, y + i * ys + j, ys);
      if (j + TILE < b8) tile(x + (j + TILE) * xs + i, xs, y + i * ys + j + TILE, ys);
    }
  small(x + b8 * xs, xs, y + b8, ys, a8, b - b8);
  small(x + a8, xs, y + a8 * ys, ys, a - a8, b);
}

static void turn(void *arg, int64_t from, int64_t to) {
  const moves *m = arg;
  int last = m->rank - 1;
  for (int64_t p = from; p < to; p++) {
    const float *x;
    float *y;
    begin(m, p / m->blocks, &x, &y);
    int64_t i = p % m->blocks * STRIP, rows = m->size[m->row] - i;
    strip(x + i, m->from[last], y + i * m->to[m->row], m->to[m->row], rows < STRIP ? rows : STRIP,
          m->size[last]);
  }
}

void gr_permute(const gr_launch *l, const gr_type *x_type, const gr_ints *perm, const void *x,
                void *y) {
  moves m = merge(x_type, perm);
  int64_t n = gr_type_count(x_type), run = m.size[m.rank - 1];
  m.x = x, m.y = y;
  if (m.rank == 1) {
    gr_copy_rows(l, y, 4 * n, x, 4 * n, 4 * n, 1);
  } else if (m.row == m.rank - 1) {
    gr_parallel(l, n / run, 1 + 8192 / run, copy_rows, &m);
  } else {
    m.blocks = (m.size[m.row] + STRIP - 1) / STRIP;
    gr_parallel(l, n / run / m.size[m.row] * m.blocks, 1 + 8192 / (run * STRIP), turn, &m);
  }
}
