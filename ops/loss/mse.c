// mse.c - squared error and its gradient.
#include <stdio.h>
#include "ops/kernels/composed.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/loss/score.h"
#include "ops/ops.h"

GR_CU(mse);
GR_CU(mse_grad);

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  char x[GR_MAX_RANK + 1];
  gr_letters(x, "n", s->in[0].rank);
  snprintf(buf, 128, "%s,%s->n,n", x, x);
}

static gr_status infer(gr_op_call *s) {
  if (!s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "'mse' takes operands of at least one axis, the samples, got a scalar");
  GR_TRY(gr_require_float(s, 0, "the prediction"));
  return gr_require_float(s, 1, "the target");
}

static void grad(const gr_grad *g) {
  if (!gr_is(g->dy[0])) return;
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_mse_grad, NULL, g->x[0], g->x[1], g->dy[0]);
  if (g->want[1]) g->dx[1] = GR_EMIT(g->b, &gr_op_mse_grad, NULL, g->x[1], g->x[0], g->dy[0]);
}

static gr_status mse_cpu(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], per = gr_type_count(l->in_type) / n;
  for (int64_t s = 0; s < n; s++) {
    double sum = 0;
    for (int64_t i = s * per; i < (s + 1) * per; i++) sum += pow(IN(0, i) - IN(1, i), 2);
    OUT(0, s, sum), OUT(1, s, (double)per);
  }
  return GR_OK;
}

static void samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t per = gr_type_count(l->in_type) / l->in_type[0].dim[0];
  const float *x = l->in[0], *y = l->in[1];
  for (int64_t s = begin; s < end; s++) {
    ((float *)l->out[0])[s] = gr_apart_f32(x + s * per, y + s * per, per);
    ((float *)l->out[1])[s] = (float)per;
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_samples(l, samples_f32); }

static gr_status gpu(gr_gpu_call *g) {
  enum { PIECE = 8192 };
  const gr_type *x = &g->call->in[0];
  int64_t n = gr_type_count(x) / x->dim[0], pieces = (n + PIECE - 1) / PIECE;
  int64_t all = x->dim[0] * pieces;
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_mse, "squared_errors", all * 256, 256);
  gr_score_kernel(g, k, all);
  gr_gpu_int(k, n), gr_gpu_int(k, PIECE), gr_gpu_int(k, pieces);
  gr_score_sums(g, k, all);
  return GR_OK;
}

static const gr_case cases[] = {{{"f32[6]", "f32[6]"}}, {{"f32[6,3,4]", "f32[6,3,4]"}}, {{0}}};

const gr_op gr_op_mse = {
    .name = "mse",
    .doc = "Per sample, the sum of (prediction - target)^2, and its number of elements.",
    .n_in = 2,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .grad = grad,
    .cpu = mse_cpu,
    .fast_f32 = run_f32,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};

// ---- The gradient: 2 (prediction - target) dy ---------------------------------------------

static void grad_index_spec_of(const gr_op_call *s, char buf[128]) {
  char x[GR_MAX_RANK + 1];
  gr_letters(x, "n", s->in[0].rank);
  snprintf(buf, 128, "%s,%s,n->%s", x, x, x);
}

static gr_status grad_cpu(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], count = gr_type_count(l->in_type);
  for (int64_t i = 0; i < count; i++) OUT(0, i, 2 * (IN(0, i) - IN(1, i)) * IN(2, i / (count / n)));
  return GR_OK;
}

static void grad_samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t per = gr_type_count(l->in_type) / l->in_type[0].dim[0];
  for (int64_t s = begin; s < end; s++) {
    const float *x = (const float *)l->in[0] + s * per, *y = (const float *)l->in[1] + s * per;
    float *dx = (float *)l->out[0] + s * per, dy = 2 * ((const float *)l->in[2])[s];
    GR_VECTOR for (int64_t i = 0; i < per; i++) dx[i] = (x[i] - y[i]) * dy;
  }
}

static gr_status grad_run_f32(const gr_launch *l) { return gr_run_samples(l, grad_samples_f32); }

static gr_status grad_gpu(gr_gpu_call *g) {
  const gr_type *x = &g->call->in[0];
  gr_gpu_int(gr_gpu_elements(g, gr_cu_mse_grad, "mse_grad"), gr_type_count(x) / x->dim[0]);
  return GR_OK;
}

static const gr_case grad_cases[] = {{{"f32[6,3,4]", "f32[6,3,4]", "f32[6]"}}, {{0}}};

static void compose(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  (void)of;
  y[0] = gr_scale(b, gr_mul(b, gr_sub(b, x[0], x[1]), gr_broadcast_samples(b, x[2], x[0])), 2);
}

static void second(const gr_grad *g) { gr_grad_of_composition(g, compose); }

const gr_op gr_op_mse_grad = {
    .name = "mse_grad",
    .doc = "The gradient of mse with respect to the prediction, from prediction, target and dy.",
    .n_in = 3,
    .index_spec_of = grad_index_spec_of,
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .gpu = grad_gpu,
    .inplace = {1},
    .amp = GR_AMP_WIDE,
    .cases = grad_cases,
};
