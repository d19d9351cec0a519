// abs.c - absolute value.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(abs, fabs(x0))

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_abs_grad, NULL, g->x[0], g->dy[0]);
}

// x / (1 + |x|).
static void read_softsign(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  int below = GR_READ(r, &gr_op_add_scalar, GR_READ_ONE(r, &gr_op_abs, x), {"by", "1"});
  gr_read_out(r, 0, GR_READ_TWO(r, &gr_op_div, x, below), last);
}

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"i32[4]"}, .fill = "i"}, {{0}}};

const gr_op gr_op_abs = {
    GR_POINTWISE_FIELDS(abs),
    .doc = "The absolute value of x.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Abs"}, {"Softsign", read_softsign}),
    .cases = cases,
};

GR_POINTWISE2(abs_grad, x0 > 0 ? x1 : x0 < 0 ? -x1 : 0)

const gr_op gr_op_abs_grad = {
    GR_POINTWISE_FIELDS(abs_grad), .doc = "dy times the sign of x; 0 where x is 0.",
    .infer = gr_pointwise_infer,   .grad = gr_grad_of_last,
    .cases = gr_gradient_cases,
};
