// erf.c - the error function.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(erf, erf(x0))

// 2 / sqrt(pi) exp(-x^2) dy.
static void grad(const gr_grad *g) {
  gr_val slope = gr_exp(g->b, gr_neg(g->b, gr_square(g->b, g->x[0])));
  g->dx[0] = gr_scale(g->b, gr_mul(g->b, g->dy[0], slope), 1.1283791670955126);
}

const gr_op gr_op_erf = {
    GR_POINTWISE_FIELDS(erf),
    .doc = "The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Erf"}),
    .cases = gr_float_cases,
};
