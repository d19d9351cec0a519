// sin.c - sine.
#include "ops/kernels/pointwise.h"

gr_val gr_sin(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_sin, NULL, x); }

GR_POINTWISE1(sin, sin(x0))

static void grad(const gr_grad *g) { g->dx[0] = gr_mul(g->b, g->dy[0], gr_cos(g->b, g->x[0])); }

const gr_op gr_op_sin = {
    GR_POINTWISE_FIELDS(sin),
    .doc = "The sine of x, in radians.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Sin"}),
    .cases = gr_float_cases,
};
