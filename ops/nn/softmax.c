// softmax.c - probabilities over the last axis, with entries masked by lengths or by causality.
#include <stdio.h>
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

struct softmax {
  int64_t causal;
};

gr_val gr_softmax(gr_builder *b, gr_val x, gr_val lengths, bool is_causal) {
  return gr_emit(b, &gr_op_softmax, &(struct softmax){is_causal}, gr_is(lengths) ? 2 : 1,
                 (gr_val[]){x, lengths});
}

gr_val gr_softmax_grad(gr_builder *b, gr_val y, gr_val dy, gr_val lengths) {
  return gr_emit(b, &gr_op_softmax_grad, NULL, gr_is(lengths) ? 3 : 2, (gr_val[]){y, dy, lengths});
}

// x is [n,...,r,K]; lengths [n] give the number of valid entries of K. A causal row r attends to
// entries 0..r, so the row axis cannot be sharded.
static void axis_letters(const gr_op_call *s, int rank, char x[GR_MAX_RANK + 1]) {
  const struct softmax *a = s->attr;
  gr_letters(x, "n", rank);
  x[rank - 1] = 'K';
  if (a->causal && rank > 1) x[rank - 2] = 'R';
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  const struct softmax *a = s->attr;
  char x[GR_MAX_RANK + 1] = "K";
  if (s->in[0].rank) axis_letters(s, s->in[0].rank, x);
  if (s->n_in == 2)
    snprintf(buf, 128, "%s,n->%s", x, x);
  else
    snprintf(buf, 128, a->causal ? "...RK->...RK" : "...K->...K");
}

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_require_operands(s, 1, 2));
  GR_TRY(gr_require_float(s, 0, "the operand"));
  if (s->n_in == 2) GR_TRY(gr_require_ints(s, 1, "lengths"));
  return GR_OK;
}

static void grad(const gr_grad *g) {
  g->dx[0] = gr_softmax_grad(g->b, g->y[0], g->dy[0], g->n_in == 2 ? g->x[1] : GR_NONE);
}

// The number of unmasked entries of a row; 0 makes the row uniform.
static int64_t unmasked(const gr_launch *l, int64_t row) {
  const struct softmax *a = l->attr;
  const gr_type *t = gr_whole_rows(l, &row);
  int64_t k = gr_last(t), n = k;
  if (l->n_in == 2) n = gr_length(l, 1, row / (gr_rows(t) / t->dim[0]), k);
  return a->causal ? gr_min_i64(n, row % t->dim[t->rank - 2] + 1) : n;
}
static gr_status softmax_cpu(const gr_launch *l) {
  int64_t k = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    int64_t n = unmasked(l, r);
    double top = -INFINITY, s = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, IN(0, r * k + i));
    for (int64_t i = 0; i < n; i++) s += exp(IN(0, r * k + i) - top);
    for (int64_t i = 0; i < k; i++)
      OUT(0, r * k + i, !n ? 1.0 / (double)k : i < n ? exp(IN(0, r * k + i) - top) / s : 0);
  }
  return GR_OK;
}

static void rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t k = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * k;
    float *y = (float *)l->out[0] + r * k;
    int64_t n = unmasked(l, r);
    float scale = n ? gr_exp_row(x, y, n) : 0, none = n ? 0 : 1 / (float)k;
    for (int64_t i = 0; i < n; i++) y[i] *= scale;
    for (int64_t i = n; i < k; i++) y[i] = none;
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_rows(l, rows_f32); }

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  bool causal = ((const struct softmax *)s->attr)->causal;
  snprintf(buf, GR_ROW_TEXT,
           "all = %s; used = %s; top = max(i < used ? x0 : -GR_INFINITY); "
           "s = sum(i < used ? exp(x0 - top) : 0); i < used ? exp(x0 - top) * (1 / s) : used ? 0 : "
           "1 / (W)n",
           s->n_in == 2 ? "gr_clamp(x1, n)" : "n",
           causal ? "gr_clamp(gr_mod(r, above) + 1, all)" : "all");
}

static void to_onnx(gr_onnx_call *c) {
  const gr_type *x = &c->call[0]->in[0];
  int last = x->rank - 1;
  const char *columns = x->rank ? gr_onnx_out_size(c, 0, last) : NULL, *mask = NULL;
  if (c->call[0]->n_in == 2) mask = gr_onnx_within(c, 1, x->rank, last, columns);
  if (((const struct softmax *)c->call[0]->attr)->causal)
    mask = gr_onnx_and(c, mask, gr_onnx_causal(c, gr_onnx_out_size(c, 0, last - 1), columns));
  c->out[0] = gr_onnx_probabilities(c, c->in[0], mask, x->dtype);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct softmax, causal, GR_ATTR_BOOL, "false", "mask entries beyond r in row r"), {0}};
static const struct softmax open = {0}, causal = {1};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &open},
    {{"f32[2,3,37]"}, .attr = &open},
    {{"f32[4,6,6]"}, .attr = &causal},
    {{"f32[6,5,7]", "i32[6]"}, .attr = &open, .fill = "nl"},
    {{"f32[6,2,7,7]", "i32[6]"}, .attr = &causal, .fill = "nl"},
    {{"f32[6,5,7]", "f32[6]"}, .attr = &open, .fails = "lengths of 'softmax' must be i32"},
    {{"f32[6]"}, .attr = &causal, .fails = "expected at least 2"},
    {{0}},
};

const gr_op gr_op_softmax = {
    .name = "softmax",
    .doc =
        "exp(x) / sum(exp(x)) over the last axis. Entries at or beyond the sample's length, the "
        "optional second operand, are 0; a row of length 0 is uniform.",
    .n_in = GR_ANY,
    .attr_size = sizeof(struct softmax),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .grad = grad,
    .cpu = softmax_cpu,
    .fast_f32 = run_f32,
    .row_of = row_of,
    .inplace = {1},
    .amp = GR_AMP_WIDE,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"Softmax", gr_read_over_last}),
    .cases = cases,
};

// ---- The gradient: dx = y (dy - sum(y dy)); a uniform row's is 0 ----------------------------

static void grad_index_spec_of(const gr_op_call *s, char buf[128]) {
  char x[GR_MAX_RANK + 1] = "K";
  if (s->n_in == 2) {
    snprintf(buf, 128, "...K,...K->...K");
    return;
  }
  gr_letters(x, "n", s->in[0].rank);
  if (s->in[0].rank) x[s->in[0].rank - 1] = 'K';
  snprintf(buf, 128, "%s,%s,n->%s", x, x, x);
}

static gr_status grad_infer(gr_op_call *s) {
  GR_TRY(gr_require_operands(s, 2, 3));
  return gr_require_float(s, 1, "the gradient");
}

static bool uniform(const gr_launch *l, int64_t row) {
  const gr_type *t = gr_whole_rows(l, &row);
  return l->n_in == 3 && gr_length(l, 2, row / (gr_rows(t) / t->dim[0]), gr_last(t)) == 0;
}

static gr_status grad_cpu(const gr_launch *l) {
  int64_t k = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    double s = 0, on = !uniform(l, r);
    for (int64_t i = 0; i < k; i++) s += IN(0, r * k + i) * IN(1, r * k + i);
    for (int64_t i = 0; i < k; i++)
      OUT(0, r * k + i, on * IN(0, r * k + i) * (IN(1, r * k + i) - s));
  }
  return GR_OK;
}

static void grad_rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t k = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    const float *y = (const float *)l->in[0] + r * k, *dy = (const float *)l->in[1] + r * k;
    float *dx = (float *)l->out[0] + r * k, on = uniform(l, r) ? 0 : 1;
    float s = gr_dot_f32(y, dy, k);
    GR_VECTOR for (int64_t i = 0; i < k; i++) dx[i] = on * y[i] * (dy[i] - s);
  }
}

static gr_status grad_run_f32(const gr_launch *l) { return gr_run_rows(l, grad_rows_f32); }

static void grad_row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  snprintf(buf, GR_ROW_TEXT, "s = sum(x0 * x1); %sx0 * (x1 - s)",
           s->n_in == 3 ? "(W)(x2 > 0) * " : "");
}

// z, and 0 for samples of length 0, whose rows are constant.
static gr_val without_empty(gr_builder *b, gr_val z, gr_val lengths) {
  if (b->err) return GR_NONE;
  const gr_type t = gr_at(b->g, z)->type, n = gr_at(b->g, lengths)->type;
  gr_val some = gr_cast(b, gr_less(b, gr_fill(b, &n, 0), lengths), t.dtype);
  return gr_mul(b, z, gr_broadcast_samples(b, some, z));
}

// With z, what flows back, and sums over rows: by y, z (dy - sum(y dy)) - dy sum(y z); by dy, the
// same op on z.
static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  gr_val y = g->x[0], dy = g->x[1], z = g->dy[0];
  if (g->n_in == 3) z = without_empty(b, z, g->x[2]);
  if (g->want[0])
    g->dx[0] = gr_sub(b, gr_mul(b, z, gr_sub(b, dy, gr_row_sums(b, gr_mul(b, y, dy)))),
                      gr_mul(b, dy, gr_row_sums(b, gr_mul(b, y, z))));
  if (g->want[1]) g->dx[1] = gr_softmax_grad(b, y, z, g->n_in == 3 ? g->x[2] : GR_NONE);
}

static const gr_case grad_cases[] = {
    {{"f32[4,6]", "f32[4,6]"}},
    {{"f32[6,5,7]", "f32[6,5,7]", "i32[6]"}, .fill = "nnl"},
    {{0}},
};

const gr_op gr_op_softmax_grad = {
    .name = "softmax_grad",
    .doc = "The gradient of softmax with respect to x, from y, dy and the lengths.",
    .n_in = GR_ANY,
    .index_spec_of = grad_index_spec_of,
    .infer = grad_infer,
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .row_of = grad_row_of,
    .inplace = {2},
    .amp = GR_AMP_WIDE,
    .cases = grad_cases,
};
