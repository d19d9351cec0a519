// tanh.c - hyperbolic tangent.
#include "ops/kernels/pointwise.h"

gr_val gr_tanh(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_tanh, NULL, x); }

GR_POINTWISE1(tanh, tanh(x0))

// Uses y, not x: in a scan, y is often the carry and is saved anyway.
static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_tanh_grad, NULL, g->y[0], g->dy[0]);
}

static const gr_case cases[] = {
    {{"f32[4,6]"}}, {{"i32[4]"}, .fails = "takes floats, got i32"}, {{0}}};

const gr_op gr_op_tanh = {
    GR_POINTWISE_FIELDS(tanh),           .doc = "The hyperbolic tangent of x.",
    .infer = gr_pointwise_infer_float,   .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Tanh"}), .cases = cases,
};

GR_POINTWISE2(tanh_grad, (1 - x0 * x0) * x1)

static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  if (g->want[0]) g->dx[0] = gr_scale(b, gr_mul(b, g->x[0], gr_mul(b, g->x[1], g->dy[0])), -2);
  if (g->want[1]) g->dx[1] = GR_EMIT(b, &gr_op_tanh_grad, NULL, g->x[0], g->dy[0]);
}

const gr_op gr_op_tanh_grad = {
    GR_POINTWISE_FIELDS(tanh_grad),
    .doc = "(1 - y^2) dy: the gradient of tanh, from its output y.",
    .infer = gr_pointwise_infer_float,
    .grad = second,
    .cases = gr_gradient_cases,
};
