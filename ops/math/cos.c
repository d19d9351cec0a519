// cos.c - cosine.
#include "ops/kernels/pointwise.h"

gr_val gr_cos(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_cos, NULL, x); }

GR_POINTWISE1(cos, cos(x0))

static void grad(const gr_grad *g) {
  g->dx[0] = gr_neg(g->b, gr_mul(g->b, g->dy[0], gr_sin(g->b, g->x[0])));
}

const gr_op gr_op_cos = {
    GR_POINTWISE_FIELDS(cos),
    .doc = "The cosine of x, in radians.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Cos"}),
    .cases = gr_float_cases,
};
