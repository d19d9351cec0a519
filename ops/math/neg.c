// neg.c - change of sign.
#include "ops/kernels/pointwise.h"

gr_val gr_neg(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_neg, NULL, x); }

GR_POINTWISE1(neg, -x0)

static void grad(const gr_grad *g) { g->dx[0] = gr_neg(g->b, g->dy[0]); }

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"i32[5]"}, .fill = "i"}, {{0}}};

const gr_op gr_op_neg = {
    GR_POINTWISE_FIELDS(neg),
    .doc = "-x.",
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Neg"}),
    .cases = cases,
};
