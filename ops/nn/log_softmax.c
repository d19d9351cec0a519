// log_softmax.c - log probabilities over the last axis.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) { return gr_require_float(s, 0, "the operand"); }

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_log_softmax_grad, NULL, g->y[0], g->dy[0]);
}

static gr_status log_softmax_cpu(const gr_launch *l) {
  int64_t k = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    double top = -INFINITY, s = 0;
    for (int64_t i = 0; i < k; i++) top = fmax(top, IN(0, r * k + i));
    for (int64_t i = 0; i < k; i++) s += exp(IN(0, r * k + i) - top);
    for (int64_t i = 0; i < k; i++) OUT(0, r * k + i, IN(0, r * k + i) - top - log(s));
  }
  return GR_OK;
}

static void rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t k = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * k;
    float *y = (float *)l->out[0] + r * k;
    float lse = gr_log_sum_exp_f32(x, k);
    GR_VECTOR for (int64_t i = 0; i < k; i++) y[i] = x[i] - lse;
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_rows(l, rows_f32); }

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"f32[2,3,37]"}}, {{0}}};

const gr_op gr_op_log_softmax = {
    .name = "log_softmax",
    .doc = "x - log(sum(exp(x))) over the last axis.",
    .index_spec = "...K->...K",
    .infer = infer,
    .grad = grad,
    .cpu = log_softmax_cpu,
    .fast_f32 = run_f32,
    .row = "top = max(x0); s = sum(exp(x0 - top)); l = log(s); x0 - top - l",
    .inplace = {1},
    .amp = GR_AMP_WIDE,
    .onnx = "LogSoftmax axis=-1",
    .from_onnx = GR_FROM_ONNX({"LogSoftmax", gr_read_over_last}),
    .cases = cases,
};

// ---- The gradient: dx = dy - exp(y) sum(dy) -------------------------------------------------

static gr_status grad_cpu(const gr_launch *l) {
  int64_t k = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    double s = 0;
    for (int64_t i = 0; i < k; i++) s += IN(1, r * k + i);
    for (int64_t i = 0; i < k; i++) OUT(0, r * k + i, IN(1, r * k + i) - exp(IN(0, r * k + i)) * s);
  }
  return GR_OK;
}

static void grad_rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t k = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    const float *y = (const float *)l->in[0] + r * k, *dy = (const float *)l->in[1] + r * k;
    float *dx = (float *)l->out[0] + r * k, s = gr_sum_f32(dy, k);
    GR_VECTOR for (int64_t i = 0; i < k; i++) dx[i] = dy[i] - gr_exp_f32(y[i]) * s;
  }
}

static gr_status grad_run_f32(const gr_launch *l) { return gr_run_rows(l, grad_rows_f32); }

static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  gr_val p = gr_mul(b, gr_exp(b, g->x[0]), g->dy[0]);
  if (g->want[0]) g->dx[0] = gr_neg(b, gr_mul(b, p, gr_row_sums(b, g->x[1])));
  if (g->want[1]) g->dx[1] = gr_sub(b, g->dy[0], gr_row_sums(b, p));
}

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}}, {{0}}};

const gr_op gr_op_log_softmax_grad = {
    .name = "log_softmax_grad",
    .doc = "The gradient of log_softmax with respect to x, from y and dy.",
    .index_spec = "...K,...K->...K",
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .row = "s = sum(x1); x1 - exp(x0) * s",
    .inplace = {2},
    .amp = GR_AMP_WIDE,
    .cases = grad_cases,
};
