// attention_f32.c - attention in f32 on CPUs, in tiles of rows and keys, so that no more of the
// weights than a tile is ever in memory (Dao et al., "FlashAttention", 2022).
//
// Forward: the maximum and the sum of a row are updated with every tile of keys, and what has been
// summed of y so far is scaled to the new maximum (online softmax). Backward: the weights of a tile
// are computed again from the row's log-sum-exp.
//
// Keys, and for the gradient values too, are copied to transposed tiles first, so that every
// product is one of a matrix that is not transposed on the right: the fastest of gemm_plain.c,
// whose sums do not depend on where a tile of rows begins.
#include "ops/kernels/gemm.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/nn/attention.h"

// Of a tile: its rows and keys, the distance of its rows in memory, which is no multiple of what a
// set of the L1 cache is found by, and what columns are padded to a multiple of.
enum { ROWS = 128, KEYS = 256, PITCH = KEYS + 16, UNIT = 16 };

static int64_t padded(int64_t n) { return (n + UNIT - 1) / UNIT * UNIT; }
static int64_t tiles(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Writes rows of x, which are `step` apart, as columns of [width, KEYS], times `by`. Columns up to
// the next multiple of UNIT are 0.
static void pack(const float *x, int64_t step, int64_t rows, int64_t width, float by,
                 float *restrict to) {
  for (int64_t first = 0; first < rows; first += UNIT) {
    const float *block = x + first * step;
    int64_t now = gr_min_i64(UNIT, rows - first);
    for (int64_t i = 0; i < width; i++) {
      float *column = to + i * PITCH + first;
      if (now == UNIT)
        for (int64_t c = 0; c < UNIT; c++) column[c] = block[c * step + i] * by;
      else
        for (int64_t c = 0; c < UNIT; c++) column[c] = c < now ? block[c * step + i] * by : 0;
    }
  }
}

// Sets x[c] to 0 where the weight with that index, of n consecutive ones, is dropped.
static void draw(const gr_attention *a, uint64_t index, int64_t n, uint32_t words[KEYS + 8]) {
  int64_t skip = (int64_t)(index % 4);
  gr_rng_blocks(&a->rng, index / 4, (skip + n + 3) / 4, words);
}

// ---- Forward ------------------------------------------------------------------------------------

typedef struct forward {
  gr_attention a;
  const float *q, *k, *v;
  float *y, *lse;  // lse: NULL if it is not a result
  float *packed;   // tiles of keys, of all heads
} forward;

static void pack_keys(void *arg, int64_t begin, int64_t end) {
  const forward *f = arg;
  const gr_attention *a = &f->a;
  int64_t each = tiles(a->s, KEYS), step = a->heads * a->d;
  for (int64_t i = begin; i < end; i++) {
    int64_t head = i / each % a->heads, sample = i / each / a->heads, key = i % each * KEYS;
    pack(f->k + (sample * a->s + key) * step + head * a->d, step, gr_min_i64(KEYS, a->s - key),
         a->d, (float)a->scale, f->packed + i * a->d * PITCH);
  }
}

// A row's maximum so far, and the sum of exp(score - top).
typedef struct row_state {
  float top, sum;
} row_state;

// Turns n scores into exp(score - top), and the rest of the tile's into 0. Returns what sums made
// with the maximum before are multiplied by.
static float soften(float *x, int64_t n, int64_t keys, row_state *r) {
  for (int64_t c = n; c < keys; c++) x[c] = 0;
  if (!n) return 1;
  float most = gr_top_f32(x, n), top = most > r->top ? most : r->top;
  float by = r->top == top ? 1 : gr_exp_f32(r->top - top);
  GR_VECTOR for (int64_t c = 0; c < n; c++) x[c] = gr_exp_f32(x[c] - top);
  *r = (row_state){top, r->sum * by + gr_sum_f32(x, n)};
  return by;
}

static void drop(const gr_attention *a, uint64_t index, float *x, int64_t n) {
  uint32_t words[KEYS + 8];
  draw(a, index, n, words);
  const uint32_t *word = words + index % 4;
  GR_VECTOR for (int64_t c = 0; c < n; c++) x[c] = word[c] >= a->least ? x[c] : 0;
}

// A tile of rows of one head, and where it is.
typedef struct place {
  int64_t sample, head, row, rows;
  bool uniform;
} place;

// How many of a tile's keys a row sees.
static int64_t seen_of(const gr_attention *a, const place *p, int64_t row, int64_t key,
                       int64_t keys) {
  return gr_max_i64(0, gr_min_i64(keys, gr_attention_seen(a, p->sample, row) - key));
}

static void add_keys(const forward *f, const place *p, int64_t key, float *weights,
                     row_state *state) {
  const gr_attention *a = &f->a;
  int64_t keys = gr_min_i64(KEYS, a->s - key), width = a->heads * a->d, wide = a->heads * a->e;
  int64_t head = p->sample * a->heads + p->head;
  const float *q = f->q + (p->sample * a->t + p->row) * width + p->head * a->d;
  const float *v = f->v + (p->sample * a->s + key) * wide + p->head * a->e;
  float *y = f->y + (p->sample * a->t + p->row) * wide + p->head * a->e;
  const float *tile = f->packed + (head * tiles(a->s, KEYS) + key / KEYS) * a->d * PITCH;
  gr_gemm scores = {p->rows, padded(keys), a->d, .lda = width, .ldb = PITCH, .ldc = PITCH};
  gr_gemm sums = {p->rows, a->e, keys, .add = key > 0, .lda = PITCH, .ldb = wide, .ldc = wide};
  if (p->uniform)
    memset(weights, 0, sizeof *weights * (size_t)(p->rows * PITCH));
  else
    gr_gemm_plain(&scores, q, tile, weights);
  for (int64_t i = 0; i < p->rows; i++) {
    int64_t n = seen_of(a, p, p->row + i, key, keys);
    float by = soften(weights + i * PITCH, n, keys, &state[i]);
    if (n && a->drops)
      drop(a, gr_attention_index(a, p->sample, p->head, p->row + i) + (uint64_t)key,
           weights + i * PITCH, n);
    if (key && by != 1) GR_VECTOR for (int64_t c = 0; c < a->e; c++) y[i * wide + c] *= by;
  }
  gr_gemm_plain(&sums, weights, v, y);
}

static void rows_forward(void *arg, int64_t begin, int64_t end) {
  const forward *f = arg;
  const gr_attention *a = &f->a;
  _Alignas(64) float weights[ROWS * PITCH];
  row_state state[ROWS];
  int64_t each = tiles(a->t, ROWS);
  for (int64_t block = begin; block < end; block++) {
    place p = {block / each / a->heads, block / each % a->heads, block % each * ROWS, .rows = ROWS};
    p.rows = gr_min_i64(ROWS, a->t - p.row);
    p.uniform = gr_attention_is_uniform(a, p.sample);
    for (int64_t i = 0; i < p.rows; i++) state[i] = (row_state){-INFINITY, 0};
    int64_t seen = gr_attention_seen(a, p.sample, p.row + p.rows - 1);
    for (int64_t key = 0; key < seen; key += KEYS) add_keys(f, &p, key, weights, state);
    for (int64_t i = 0; i < p.rows; i++) {
      float *y = f->y + ((p.sample * a->t + p.row + i) * a->heads + p.head) * a->e;
      float by = (float)a->keep / state[i].sum;
      GR_VECTOR for (int64_t c = 0; c < a->e; c++) y[c] *= by;
      if (f->lse)
        f->lse[(p.sample * a->heads + p.head) * a->t + p.row + i] =
            state[i].top + logf(state[i].sum);
    }
  }
}

gr_status gr_attention_f32(const gr_launch *l) {
  forward f = {gr_attention_of(l), l->in[ATTENTION_Q], l->in[ATTENTION_K],
               l->in[ATTENTION_V], l->out[0],          l->n_out > 1 ? l->out[1] : NULL,
               l->scratch};
  const gr_attention *a = &f.a;
  int64_t heads = a->n * a->heads;
  gr_parallel(l, heads * tiles(a->s, KEYS), 4, pack_keys, &f);
  gr_parallel(l, heads * tiles(a->t, ROWS), 1, rows_forward, &f);
  return GR_OK;
}

size_t gr_attention_f32_scratch(const gr_op_call *s) {
  const gr_type *k = &s->in[ATTENTION_K];
  return sizeof(float) *
         (size_t)(k->dim[0] * k->dim[2] * tiles(k->dim[1], KEYS) * PITCH * k->dim[3]);
}

// ---- The gradients
// -------------------------------------------------------------------------------- With w the
// weights before dropout, m what dropout multiplies them by, and dw = dy v':
//
//   dv = (w m)' dy        ds = w (m dw - sum(y dy)) scale        dq = ds k        dk = ds' q
//
// because sum over keys of w m dw is sum(y dy). A head is one thread's, which adds the tiles in one
// order: the result is the same on any number of threads.

typedef struct backward {
  gr_attention a;
  const float *q, *k, *v, *y, *dy, *lse;
  float *dq, *dk, *dv;
  float *work;  // of each head: a tile of keys, one of values, and sum(y dy) of each row
} backward;

static int64_t head_work(const gr_type *q, const gr_type *v) {
  return PITCH * (q->dim[3] + v->dim[3]) + padded(q->dim[1]);
}

// A head, whose elements of an operand follow `head` and are `width` (of v, y: `wide`) apart.
typedef struct head {
  const backward *f;
  place p;
  const float *q, *k, *v, *dy, *lse;
  float *dq, *dk, *dv, *keys, *values, *delta;
  int64_t width, wide;
} head;

static head head_of(const backward *f, int64_t i) {
  const gr_attention *a = &f->a;
  place p = {i / a->heads, i % a->heads, .uniform = gr_attention_is_uniform(a, i / a->heads)};
  int64_t width = a->heads * a->d, wide = a->heads * a->e;
  int64_t q = p.sample * a->t * width + p.head * a->d, k = p.sample * a->s * width + p.head * a->d;
  int64_t y = p.sample * a->t * wide + p.head * a->e, v = p.sample * a->s * wide + p.head * a->e;
  float *work = f->work + i * (PITCH * (a->d + a->e) + padded(a->t));
  head h = {.f = f, .p = p, .q = f->q + q, .k = f->k + k, .v = f->v + v, .dy = f->dy + y};
  h.lse = f->lse + i * a->t, h.dq = f->dq + q, h.dk = f->dk + k, h.dv = f->dv + v;
  h.keys = work, h.values = work + PITCH * a->d, h.delta = h.values + PITCH * a->e;
  h.width = width, h.wide = wide;
  for (int64_t t = 0; t < a->t; t++)
    h.delta[t] = gr_dot_f32(f->y + y + t * wide, h.dy + t * wide, a->e);
  return h;
}

// Turns a row's scores into w m, and its dw into ds.
static void row_grad(const head *h, int64_t row, int64_t key, int64_t keys, float *x, float *dw) {
  const gr_attention *a = &h->f->a;
  int64_t n = seen_of(a, &h->p, row, key, keys);
  float lse = h->lse[row], delta = h->delta[row], scale = h->p.uniform ? 0 : (float)a->scale;
  float keep = (float)a->keep;
  uint32_t words[KEYS + 8];
  uint64_t index = gr_attention_index(a, h->p.sample, h->p.head, row) + (uint64_t)key;
  const uint32_t *word = words + index % 4;
  if (n && a->drops) {
    draw(a, index, n, words);
    GR_VECTOR for (int64_t c = 0; c < n; c++) {
      float w = gr_exp_f32(x[c] - lse), m = word[c] >= a->least ? keep : 0;
      x[c] = w * m;
      dw[c] = w * (m * dw[c] - delta) * scale;
    }
  } else {
    GR_VECTOR for (int64_t c = 0; c < n; c++) {
      x[c] = gr_exp_f32(x[c] - lse);
      dw[c] = x[c] * (dw[c] - delta) * scale;
    }
  }
  for (int64_t c = n; c < keys; c++) x[c] = dw[c] = 0;
}

// A tile of the head: the terms of its rows and keys in all three gradients.
static void add_tile(const head *h, int64_t key, int64_t row, bool first, float *x, float *dw) {
  const gr_attention *a = &h->f->a;
  int64_t keys = gr_min_i64(KEYS, a->s - key), rows = gr_min_i64(ROWS, a->t - row);
  const float *q = h->q + row * h->width, *dy = h->dy + row * h->wide;
  gr_gemm g = {rows, padded(keys), a->d, .lda = h->width, .ldb = PITCH, .ldc = PITCH};
  if (h->p.uniform)
    memset(x, 0, sizeof *x * ROWS * PITCH);
  else
    gr_gemm_plain(&g, q, h->keys, x);
  g.k = a->e, g.lda = h->wide;
  gr_gemm_plain(&g, dy, h->values, dw);
  for (int64_t i = 0; i < rows; i++) row_grad(h, row + i, key, keys, x + i * PITCH, dw + i * PITCH);
  g = (gr_gemm){keys,          a->e,         rows,           true,
                .add = !first, .lda = PITCH, .ldb = h->wide, .ldc = h->wide};
  gr_gemm_plain(&g, x, dy, h->dv + key * h->wide);
  g.n = a->d, g.ldb = g.ldc = h->width;
  gr_gemm_plain(&g, dw, q, h->dk + key * h->width);
  g = (gr_gemm){rows, a->d, keys, .add = key > 0, .lda = PITCH, .ldb = h->width, .ldc = h->width};
  gr_gemm_plain(&g, dw, h->k + key * h->width, h->dq + row * h->width);
}

static void clear_rows(float *x, int64_t step, int64_t width, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) memset(x + i * step, 0, sizeof *x * (size_t)width);
}

static void heads_backward(void *arg, int64_t begin, int64_t end) {
  const backward *f = arg;
  const gr_attention *a = &f->a;
  _Alignas(64) float x[ROWS * PITCH], dw[ROWS * PITCH];
  for (int64_t i = begin; i < end; i++) {
    head h = head_of(f, i);
    int64_t seen = gr_attention_seen(a, h.p.sample, a->t - 1);
    for (int64_t key = 0; key < seen; key += KEYS) {
      int64_t keys = gr_min_i64(KEYS, a->s - key);
      int64_t first = gr_attention_first_row(a, h.p.sample, key) / ROWS * ROWS;
      pack(h.k + key * h.width, h.width, keys, a->d, (float)a->scale, h.keys);
      pack(h.v + key * h.wide, h.wide, keys, a->e, 1, h.values);
      for (int64_t row = first; row < a->t; row += ROWS)
        add_tile(&h, key, row, row == first, x, dw);
    }
    int64_t made = gr_min_i64(a->s, tiles(seen, KEYS) * KEYS);
    clear_rows(h.dk, h.width, a->d, made, a->s);
    clear_rows(h.dv, h.wide, a->e, made, a->s);
  }
}

gr_status gr_attention_grad_f32(const gr_launch *l) {
  backward f = {.a = gr_attention_of(l), .work = l->scratch};
  f.q = l->in[ATTENTION_Q], f.k = l->in[ATTENTION_K], f.v = l->in[ATTENTION_V];
  f.y = l->in[ATTENTION_Y], f.dy = l->in[ATTENTION_DY], f.lse = l->in[ATTENTION_LSE];
  f.dq = l->out[0], f.dk = l->out[1], f.dv = l->out[2];
  gr_parallel(l, f.a.n * f.a.heads, 1, heads_backward, &f);
  return GR_OK;
}

size_t gr_attention_grad_f32_scratch(const gr_op_call *s) {
  const gr_type *q = &s->in[ATTENTION_Q];
  return sizeof(float) * (size_t)(q->dim[0] * q->dim[2] * head_work(q, &s->in[ATTENTION_V]));
}
