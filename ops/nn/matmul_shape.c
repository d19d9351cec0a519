// matmul_shape.c - what a matmul is as products of dense matrices; and the kernel of CPUs for
// narrow operands, in pieces, so that little is in f32 at once: they are multiplied as they are
// where that is faster (gemm.h), and otherwise converted. Sums are f32, and a narrow result is
// rounded once.
#include "ops/kernels/widen.h"
#include "ops/nn/matmul.h"

gr_matmul_shape gr_matmul_shape_of(const gr_type *x, const gr_type *y, const struct matmul *a) {
  int64_t k = a->ta ? x->dim[x->rank - 2] : gr_last(x),
          m = a->ta ? gr_last(x) : x->dim[x->rank - 2];
  int64_t n = a->tb ? y->dim[y->rank - 2] : gr_last(y);
  int64_t lead_x = gr_type_count(x) / (m * k), lead_y = gr_type_count(y) / (k * n);
  gr_matmul_shape p = {
      .count = gr_max_i64(lead_x, lead_y),
      .step = {x->rank > 2 ? m * k : 0, y->rank > 2 ? k * n : 0, a->sum ? 0 : m * n}};
  if (!a->sum && y->rank == 2 && !a->ta) m *= lead_x, p.count = 1;              // more rows
  if (a->sum && a->ta && !a->tb) k *= gr_max_i64(lead_x, lead_y), p.count = 1;  // more to sum
  p.g = gr_gemm_dense(a->ta, a->tb, m, n, k);
  return p;
}

// ---- Narrow operands ---------------------------------------------------------------------------

enum { PIECES = 4 };
typedef enum axis { PRODUCTS, ROWS, COLUMNS, TERMS, AXES } axis;

// A product, or a piece of it along an axis.
typedef struct piece {
  gr_matmul_shape p;
  bool sum, wide;  // the products are added; the result is f32
  axis along;
} piece;

static int64_t *size_of(piece *s, axis along) {
  int64_t *sizes[] = {&s->p.count, &s->p.g.m, &s->p.g.n, &s->p.g.k};
  return sizes[along];
}

// The numbers of x, y and z, and which of them a piece has in f32 after each other.
static int64_t numbers(const piece *s, int64_t *y, int64_t *z) {
  const gr_gemm *g = &s->p.g;
  int64_t count = s->p.count;
  *y = (s->p.step.a ? count : 1) * g->m * g->k;
  *z = *y + (s->p.step.b ? count : 1) * g->k * g->n;
  return *z + (s->wide ? 0 : (s->p.step.c ? count : 1) * g->m * g->n);
}

static piece whole_of(const gr_type *in, const gr_type *out, const struct matmul *a) {
  piece s = {.p = gr_matmul_shape_of(in, in + 1, a), .sum = a->sum, .along = PRODUCTS};
  s.wide = out->dtype == GR_F32;
  if (s.p.count > 1) return s;
  int64_t least = INT64_MAX, y, z;
  for (axis k = ROWS; k < AXES; k++) {
    piece part = s;
    *size_of(&part, k) = (*size_of(&s, k) + PIECES - 1) / PIECES;
    int64_t n = numbers(&part, &y, &z);
    if (n < least) least = n, s.along = k;
  }
  return s;
}

static piece first_of(piece s) {
  int64_t *size = size_of(&s, s.along);
  *size = (*size + PIECES - 1) / PIECES;
  return s;
}

size_t gr_matmul_narrow_scratch(const gr_op_call *s) {
  int64_t y, z;
  piece first = first_of(whole_of(s->in, s->out, s->attr));
  return sizeof(float) * (size_t)numbers(&first, &y, &z);
}

// One piece, whose operands begin at x and y, into z; `add`: to what is there.
static void multiply(const gr_launch *l, piece s, bool add, const uint16_t *x, const uint16_t *y,
                     float *z) {
  gr_gemm *g = &s.p.g;
  gr_dtype d = l->in_type->dtype;
  int64_t at_y, at_z, count = s.p.count;
  bool each = s.sum && count > 1;
  g->add = add;
  if (d == GR_BF16 && !each && gr_gemm_bf16_batch(l, g, count, s.p.step, x, y, z)) return;
  float *wide_x = l->scratch, *wide_y = (numbers(&s, &at_y, &at_z), wide_x + at_y);
  int64_t rows_x = (g->ta ? g->k : g->m) * (s.p.step.a ? count : 1);
  int64_t rows_y = (g->tb ? g->n : g->k) * (s.p.step.b ? count : 1);
  gr_widen_rows(l, d, x, g->lda, rows_x, g->ta ? g->m : g->k, wide_x);
  gr_widen_rows(l, d, y, g->ldb, rows_y, g->tb ? g->k : g->n, wide_y);
  g->lda = g->ta ? g->m : g->k, g->ldb = g->tb ? g->k : g->n;
  if (!each) gr_gemm_batch(l, g, count, s.p.step, wide_x, wide_y, z);
  for (int64_t i = 0; each && i < count; i++, g->add = true)
    gr_gemm_run(l, g, wide_x + i * s.p.step.a, wide_y + i * s.p.step.b, z);
}

gr_status gr_matmul_narrow(const gr_launch *l) {
  piece all = whole_of(l->in_type, l->out_type, l->attr), s = first_of(all);
  const gr_gemm g = all.p.g;
  int64_t size = *size_of(&all, s.along), each = *size_of(&s, s.along), y, z;
  const int64_t x_by[] = {s.p.step.a, g.ta ? 1 : g.lda, 0, g.ta ? g.lda : 1};
  const int64_t y_by[] = {s.p.step.b, 0, g.tb ? g.ldb : 1, g.tb ? 1 : g.ldb};
  const int64_t z_by[] = {s.p.step.c, g.ldc, 1, 0};
  bool adds = s.along == TERMS || (s.sum && s.along == PRODUCTS);
  numbers(&s, &y, &z);
  for (int64_t first = 0; first < size; first += each) {
    *size_of(&s, s.along) = gr_min_i64(each, size - first);
    int64_t offset = first * z_by[s.along];
    float *to = s.wide ? (float *)l->out[0] + offset : (float *)l->scratch + z;
    if (!s.wide) s.p.g.ldc = s.p.g.n;
    multiply(l, s, adds && first, (const uint16_t *)l->in[0] + first * x_by[s.along],
             (const uint16_t *)l->in[1] + first * y_by[s.along], to);
    if (s.wide || (adds && first + each < size)) continue;
    gr_narrow_rows(l, l->out_type->dtype, to, (s.p.step.c ? s.p.count : 1) * s.p.g.m, s.p.g.n,
                   g.ldc, (uint16_t *)l->out[0] + offset);
  }
  return GR_OK;
}
