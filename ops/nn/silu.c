// silu.c - x sigmoid(x), also called swish.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(silu, x0 / (1 + exp(-x0)))

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_silu_grad, NULL, g->x[0], g->dy[0]);
}

const gr_op gr_op_silu = {
    GR_POINTWISE_FIELDS(silu),         .doc = "x / (1 + exp(-x)).",
    .infer = gr_pointwise_infer_float, .grad = grad,
    .cases = gr_float_cases,
};

// 1 / (1 + exp(-x)), and not (1 + tanh(x / 2)) / 2, which cancels for negative x.
GR_POINTWISE2(silu_grad, (1 / (1 + exp(-x0))) * (1 + x0 * (1 - 1 / (1 + exp(-x0)))) * x1)

// By x: s (1 - s) (2 + x (1 - 2 s)) dy.
static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  if (g->want[0]) {
    gr_val s = gr_sigmoid(b, g->x[0]), slope = gr_add_scalar(b, gr_scale(b, s, -2), 1);
    gr_val factor = gr_add_scalar(b, gr_mul(b, g->x[0], slope), 2);
    gr_val both = gr_mul(b, g->x[1], g->dy[0]);
    g->dx[0] = gr_mul(b, factor, GR_EMIT(b, &gr_op_sigmoid_grad, NULL, s, both));
  }
  if (g->want[1]) g->dx[1] = GR_EMIT(b, &gr_op_silu_grad, NULL, g->x[0], g->dy[0]);
}

const gr_op gr_op_silu_grad = {
    GR_POINTWISE_FIELDS(silu_grad),
    .doc = "s (1 + x (1 - s)) dy with s = sigmoid(x): the gradient of silu, from x and dy.",
    .infer = gr_pointwise_infer_float,
    .grad = second,
    .cases = gr_gradient_cases,
};
