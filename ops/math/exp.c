// exp.c - exponential.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_exp(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_exp, NULL, x); }

GR_POINTWISE1(exp, exp(x0))

static void grad(const gr_grad *g) { g->dx[0] = gr_mul(g->b, g->dy[0], g->y[0]); }

// times x where x is positive, else times low (exp(x / width) - 1). The exponent is at most 0, so
// that nothing overflows; no clamp, whose gradient is 0 where x is.
static void elu(gr_onnx_reading *r, double times, double low, double width) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  int zero = gr_read_number(r, 0), positive = GR_READ_TWO(r, &gr_op_less, zero, x);
  int y = gr_read_emit(r, &gr_op_where, 3, (int[]){positive, zero, x}, 0, NULL);
  y = GR_READ(r, &gr_op_scale, y, {"by", gr_arena_printf(r->arena, "%.9g", 1 / width)});
  y = GR_READ(r, &gr_op_add_scalar, GR_READ_ONE(r, &gr_op_exp, y), {"by", "-1"});
  y = GR_READ(r, &gr_op_scale, y, {"by", gr_arena_printf(r->arena, "%.9g", times * low)});
  int above = GR_READ(r, &gr_op_scale, x, {"by", gr_arena_printf(r->arena, "%.9g", times)});
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_where, 3, (int[]){positive, above, y}, 0, NULL), last);
}

static void read_elu(gr_onnx_reading *r) { elu(r, 1, gr_read_float(r, "alpha", 1), 1); }
static void read_selu(gr_onnx_reading *r) {
  double times = gr_read_float(r, "gamma", 1.0507009873554805);
  elu(r, times, gr_read_float(r, "alpha", 1.6732632423543772), 1);
}
static void read_celu(gr_onnx_reading *r) {
  double alpha = gr_read_float(r, "alpha", 1);
  if (alpha == 0) gr_read_refuse(r, "has an alpha of 0");
  elu(r, 1, alpha, alpha);
}

const gr_op gr_op_exp = {
    GR_POINTWISE_FIELDS(exp),
    .doc = "e to the x.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .amp = GR_AMP_WIDE,
    .from_onnx = GR_FROM_ONNX({"Exp"}, {"Elu", read_elu}, {"Selu", read_selu}, {"Celu", read_celu}),
    .cases = gr_float_cases,
};
