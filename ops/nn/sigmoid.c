// sigmoid.c - logistic function.
#include "ops/kernels/pointwise.h"

gr_val gr_sigmoid(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_sigmoid, NULL, x); }

GR_POINTWISE1(sigmoid, 1 / (1 + exp(-x0)))

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_sigmoid_grad, NULL, g->y[0], g->dy[0]);
}

const gr_op gr_op_sigmoid = {
    GR_POINTWISE_FIELDS(sigmoid),
    .doc = "1 / (1 + exp(-x)).",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .onnx = "Sigmoid",
    .cases = gr_float_cases,
};

GR_POINTWISE2(sigmoid_grad, x0 *(1 - x0) * x1)

static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  gr_val slope = gr_add_scalar(b, gr_scale(b, g->x[0], -2), 1);  // 1 - 2 y
  if (g->want[0]) g->dx[0] = gr_mul(b, slope, gr_mul(b, g->x[1], g->dy[0]));
  if (g->want[1]) g->dx[1] = GR_EMIT(b, &gr_op_sigmoid_grad, NULL, g->x[0], g->dy[0]);
}

const gr_op gr_op_sigmoid_grad = {
    GR_POINTWISE_FIELDS(sigmoid_grad),
    .doc = "y (1 - y) dy: the gradient of sigmoid, from its output y.",
    .infer = gr_pointwise_infer_float,
    .grad = second,
    .cases = gr_gradient_cases,
};
