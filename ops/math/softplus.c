// softplus.c - log(1 + exp(x)), the smooth form of relu (Dugas et al., 2000).
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

// The exponent is at most 0, so that nothing overflows; log1p, because 1 + exp(x) rounds to 1 from
// x = -17 on.
GR_POINTWISE1(softplus, (x0 > 0 ? x0 : 0) + log1p(exp(-fabs(x0))))

static void grad(const gr_grad *g) {
  g->dx[0] = gr_mul(g->b, g->dy[0], GR_EMIT(g->b, &gr_op_sigmoid, NULL, g->x[0]));
}

// x tanh(softplus(x)).
static void read_mish(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last), y = GR_READ_ONE(r, &gr_op_softplus, x);
  gr_read_out(r, 0, GR_READ_TWO(r, &gr_op_mul, x, GR_READ_ONE(r, &gr_op_tanh, y)), last);
}

const gr_op gr_op_softplus = {
    GR_POINTWISE_FIELDS(softplus),
    .doc = "log(1 + exp(x)), without overflow or cancellation.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Softplus"}, {"Mish", read_mish}),
    .cases = gr_float_cases,
};
