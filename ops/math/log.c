// log.c - natural logarithm.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(log, log(x0))

static void grad(const gr_grad *g) { g->dx[0] = gr_div(g->b, g->dy[0], g->x[0]); }

static const gr_case cases[] = {
    {{"f32[4,6]"}, .fill = "p"}, {{"i32[4]"}, .fails = "takes floats, got i32"}, {{0}}};

const gr_op gr_op_log = {
    GR_POINTWISE_FIELDS(log),
    .doc = "The natural logarithm of x.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Log"}),
    .cases = cases,
};
