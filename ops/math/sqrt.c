// sqrt.c - square root.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(sqrt, sqrt(x0))

static void grad(const gr_grad *g) {
  g->dx[0] = gr_scale(g->b, gr_div(g->b, g->dy[0], g->y[0]), 0.5);
}

static const gr_case cases[] = {
    {{"f32[4,6]"}, .fill = "p"}, {{"i32[4]"}, .fails = "takes floats, got i32"}, {{0}}};

const gr_op gr_op_sqrt = {
    GR_POINTWISE_FIELDS(sqrt),           .doc = "The square root of x.",
    .infer = gr_pointwise_infer_float,   .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Sqrt"}), .cases = cases,
};
