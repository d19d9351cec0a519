// reduce_max.c - maximum over given axes.
#include <math.h>
#include "ops/kernels/gpu_row.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"
#include "ops/kernels/reduce.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

GR_CU(reduce_max_grad);

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  gr_reduce_index_spec(s, true, buf);
}

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_reduce_max_grad, g->attr, g->x[0], g->y[0], g->dy[0]);
}

static double fold(double most, double x) { return most > x || most != most ? most : x; }

static gr_status reduce_max_cpu(const gr_launch *l) {
  gr_reduce(l, -INFINITY, fold, 1);
  return GR_OK;
}

static inline float larger(float most, float x) { return most > x || most != most ? most : x; }

// The maximum of n numbers, with 16 running maxima so that the loop vectorises.
static float row(const float *x, int64_t n) {
  float lane[16], most = x[0];
  int64_t i = 0;
  for (int k = 0; k < 16; k++) lane[k] = x[0];
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) lane[k] = larger(lane[k], x[i + k]);
  for (int k = 0; k < 16; k++) most = larger(most, lane[k]);
  for (; i < n; i++) most = larger(most, x[i]);
  return most;
}

// Compares rows of `inner` numbers with the running maxima.
static void rows(void *arg, int64_t begin, int64_t end) {
  const gr_reduce_run *r = arg;
  gr_block b = r->b;
  for (int64_t o = begin; o < end; o++) {
    const float *x = (const float *)r->x + o * b.n * b.inner;
    float *y = (float *)r->y + o * b.inner;
    if (b.inner == 1) y[0] = row(x, b.n);
    if (b.inner == 1) continue;
    memcpy(y, x, sizeof *y * (size_t)b.inner);
    for (int64_t i = 1; i < b.n; i++)
      GR_VECTOR for (int64_t c = 0; c < b.inner; c++) y[c] = larger(y[c], x[i * b.inner + c]);
  }
}

static void run(const gr_launch *l, const gr_reduce_run *r) {
  gr_parallel(l, r->b.outer, 1 + 32768 / (r->b.n * r->b.inner), rows, (void *)r);
}
static const gr_reducer maxima = {run, NULL};

static gr_status run_fast(const gr_launch *l) {
  gr_reduce_runs(l, &maxima, 1);
  return GR_OK;
}

// Samples are independent, unless the maximum is over them.
static gr_samples samples_of(const gr_reduce_axes *a, const gr_type *x) {
  return x->rank && !gr_reduce_axes_contains(a, 0) ? gr_each : gr_together;
}

static gr_status run_narrow(const gr_launch *l) {
  return gr_run_widened(l, samples_of(l->attr, l->in_type), run_fast);
}

static size_t scratch(const gr_op_call *s) {
  if (!gr_is_up_to_f32(s)) return 0;
  return gr_widened_scratch(s, samples_of(s->attr, s->in),
                            gr_reduce_scratch(s->attr, &s->in[0], &maxima));
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_reduce(g, g->call->attr, "max", "v", 1);
  return GR_OK;
}

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  snprintf(buf, GR_ROW_TEXT, "%s", gr_reduces_rows(s) ? "m = max(x0); m" : "");
}

static void to_onnx(gr_onnx_call *c) { gr_reduce_onnx(c, "ReduceMax"); }

static void read_pool(gr_onnx_reading *r) {
  int x = gr_read_in_last(r, 0), rank = x ? gr_read_type(r, x)->rank : 2;
  int64_t axes[GR_MAX_RANK];
  for (int d = 1; d < rank - 1; d++) axes[d - 1] = d;
  const char *text = gr_read_list(r, rank - 2, axes);
  gr_read_out(r, 0, GR_READ(r, &gr_op_reduce_max, x, {"axes", text}, {"keepdim", "true"}), true);
}

static const gr_attr attrs[] = GR_AXES_ATTRS;
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}},
    {{"f32[4,50]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 2}}, 1}},
    {{"f32[3,5,2,7]"}, .attr = &(gr_reduce_axes){{2, {1, 3}}, 0}},
    {{"i32[4,6]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}, .fill = "i"},
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {2}}, 0}, .fails = "no axis 2"},
    {{0}},
};

const gr_op gr_op_reduce_max = {
    .name = "reduce_max",
    .doc = "The maximum over the given axes; equal maxima share the gradient equally.",
    .n_in = 1,
    .attr_size = sizeof(gr_reduce_axes),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = gr_reduce_infer,
    .grad = grad,
    .cpu = reduce_max_cpu,
    .fast_f32 = run_fast,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gpu,
    .row_of = row_of,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ReduceMax", gr_read_reduce},
                              {"ReduceMin", gr_read_reduce, &gr_op_neg, &gr_op_neg},
                              {"GlobalMaxPool", read_pool}),
    .cases = cases,
};

// "aBc,ac,ac->aBc"
static void grad_index_spec_of(const gr_op_call *s, char buf[128]) {
  char of[128];
  gr_reduce_index_spec(s, true, of);
  int x = (int)strcspn(of, "-");
  snprintf(buf, 128, "%.*s,%.24s,%.24s->%.*s", x, of, of + x + 2, of + x + 2, x, of);
}

static gr_status grad_cpu(const gr_launch *l) {
  int64_t outs = gr_type_count(&l->in_type[1]), terms = gr_type_count(l->in_type) / outs;
  for (int64_t o = 0; o < outs; o++) {
    int64_t equal = 0;
    for (int64_t k = 0; k < terms; k++)
      equal += IN(0, gr_reduce_term(l->attr, l->in_type, o, k)) == IN(1, o);
    for (int64_t k = 0; k < terms; k++) {
      int64_t i = gr_reduce_term(l->attr, l->in_type, o, k);
      OUT(0, i, IN(0, i) == IN(1, o) ? IN(2, o) / (double)equal : 0);
    }
  }
  return GR_OK;
}

// Counts equal maxima in a first pass and distributes dy in a second; x is [outer, n, inner], of
// which a piece is some neighbours of `inner`.
enum { PIECE = 64 };

static void distribute(const gr_launch *l, gr_block b, int64_t o, int64_t first) {
  int64_t many = gr_min_i64(b.inner - first, PIECE), result = o * b.inner + first;
  const float *x = (const float *)l->in[0] + o * b.n * b.inner + first;
  const float *most = (const float *)l->in[1] + result;
  const float *dy = (const float *)l->in[2] + result;
  float *dx = (float *)l->out[0] + o * b.n * b.inner + first, part[PIECE];
  int32_t equal[PIECE] = {0};
  for (int64_t k = 0; k < b.n; k++)
    GR_VECTOR for (int64_t c = 0; c < many; c++) equal[c] += x[k * b.inner + c] == most[c];
  for (int64_t c = 0; c < many; c++) part[c] = dy[c] / (float)equal[c];
  for (int64_t k = 0; k < b.n; k++)
    GR_VECTOR for (int64_t c = 0; c < many; c++) dx[k * b.inner + c] =
        x[k * b.inner + c] == most[c] ? part[c] : 0;
}

// The same of rows, of which the elements are neighbours.
static void distribute_row(const gr_launch *l, int64_t n, int64_t row) {
  const float *x = (const float *)l->in[0] + row * n;
  float *dx = (float *)l->out[0] + row * n, most = ((const float *)l->in[1])[row];
  int32_t equal = 0;
  for (int64_t k = 0; k < n; k++) equal += x[k] == most;
  float part = ((const float *)l->in[2])[row] / (float)equal;
  for (int64_t k = 0; k < n; k++) dx[k] = x[k] == most ? part : 0;
}

static int64_t pieces_of(gr_block b) { return (b.inner + PIECE - 1) / PIECE; }

static void distribute_pieces(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  gr_block b;
  gr_reduce_block(l->attr, l->in_type, &b);
  for (int64_t p = begin, pieces = pieces_of(b); p < end; p++)
    if (b.inner == 1)
      distribute_row(l, b.n, p);
    else
      distribute(l, b, p / pieces, p % pieces * PIECE);
}

static gr_status grad_run_fast(const gr_launch *l) {
  gr_block b;
  gr_reduce_block(l->attr, l->in_type, &b);
  gr_parallel(l, b.outer * pieces_of(b), 1 + 8192 / (b.n * gr_min_i64(b.inner, PIECE)),
              distribute_pieces, (void *)l);
  return GR_OK;
}

static gr_status grad_run_narrow(const gr_launch *l) {
  return gr_run_widened(l, samples_of(l->attr, l->in_type), grad_run_fast);
}

static size_t grad_scratch(const gr_op_call *s) {
  return gr_is_up_to_f32(s) ? gr_widened_scratch(s, samples_of(s->attr, s->in), 0) : 0;
}

static gr_kernel grad_fast(const gr_op_call *s) {
  gr_block b;
  return gr_reduce_block(s->attr, &s->in[0], &b) ? gr_by_width(s, grad_run_fast, grad_run_narrow)
                                                 : NULL;
}

// Appends the sizes and strides of the axes of x that are reduced, or of those that are kept, with
// `n` numbers each: neighbours as one axis, and in front axes of size 1.
static void put_axes(gr_gpu_kernel *k, const gr_reduce_axes *a, const gr_type *x, bool reduced,
                     int n) {
  int64_t size[GR_MAX_RANK], by[GR_MAX_RANK], stride = 1;
  for (int i = 0; i < n; i++) size[i] = 1, by[i] = 0;
  bool before = false;  // the axis after this one is of the same kind
  for (int d = x->rank, i = n; d--; stride *= x->dim[d]) {
    bool here = gr_reduce_axes_contains(a, d) == reduced;
    if (here && !before) by[--i] = stride;
    if (here) size[i] *= x->dim[d];
    before = here;
  }
  for (int i = 0; i < n; i++) gr_gpu_int(k, size[i]);
  for (int i = 0; i < n; i++) gr_gpu_int(k, by[i]);
}

static void grad_row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  const char *row = "c = sum(x0 == x1 ? 1 : 0); x0 == x1 ? x2 / c : 0";
  snprintf(buf, GR_ROW_TEXT, "%s", gr_reduces_rows(s) ? row : "");
}

static gr_status grad_gpu(gr_gpu_call *g) {
  const gr_reduce_axes *a = g->call->attr;
  const gr_type *x = &g->call->in[0];
  bool leads = gr_fused_kind_of(&g->call->in[1], x) == GR_FUSED_LEAD;
  if (gr_reduces_rows(g->call) && leads) return gr_gpu_row(g);  // reads x once
  int64_t results = gr_type_count(&g->call->in[1]), terms = gr_type_count(x) / results;
  int64_t lanes = x->rank && gr_reduce_axes_contains(a, x->rank - 1) ? 32 : 1;
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_reduce_max_grad, "reduce_max_grad", results * lanes, 256);
  gr_gpu_int(k, results), gr_gpu_int(k, terms), gr_gpu_int(k, lanes);
  put_axes(k, a, x, false, 4);
  put_axes(k, a, x, true, 3);
  return GR_OK;
}

static const gr_case grad_cases[] = {
    {{"f32[4,6]", "f32[4]", "f32[4]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}, .fill = "mmn"},
    {{"f32[2,4,6]", "f32[2,1,6]", "f32[2,1,6]"},
     .attr = &(gr_reduce_axes){{1, {1}}, 1},
     .fill = "m1n"},
    {{"f32[2,3,70]", "f32[2,70]", "f32[2,70]"},
     .attr = &(gr_reduce_axes){{1, {1}}, 0},
     .fill = "m1n"},
    {{0}},
};

static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  const gr_type x = gr_at(b->g, g->x[0])->type, y = gr_at(b->g, g->x[1])->type;
  gr_val each = GR_EMIT(b, &gr_op_reduce_max_grad, g->attr, g->x[0], g->x[1], gr_fill(b, &y, 1));
  if (g->want[2] && x.rank) g->dx[2] = GR_EMIT(b, &gr_op_sum, g->attr, gr_mul(b, each, g->dy[0]));
}

const gr_op gr_op_reduce_max_grad = {
    .name = "reduce_max_grad",
    .doc = "dy where x equals the maximum y, shared equally among equal maxima, else 0.",
    .n_in = 3,
    .attr_size = sizeof(gr_reduce_axes),
    .attrs = attrs,
    .index_spec_of = grad_index_spec_of,
    .grad = second,
    .cpu = grad_cpu,
    .fast = grad_fast,
    .scratch = grad_scratch,
    .gpu = grad_gpu,
    .row_of = grad_row_of,
    .cases = grad_cases,
};
