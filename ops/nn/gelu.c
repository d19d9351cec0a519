// gelu.c - Gaussian error linear unit (Hendrycks and Gimpel, 2016), with the exact erf.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_gelu(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_gelu, NULL, x); }

GR_POINTWISE1(gelu, 0.5f * x0 * (1 + erf(x0 * 0.70710678118654752f)))

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_gelu_grad, NULL, g->x[0], g->dy[0]);
}

// approximate=tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
static int approximate(gr_onnx_reading *r, int x) {
  int z = GR_READ(r, &gr_op_pow, x, {"exponent", "3"});
  z = GR_READ(r, &gr_op_scale, z, {"by", "0.044715"});
  z = GR_READ(r, &gr_op_scale, GR_READ_TWO(r, &gr_op_add, x, z), {"by", "0.7978845608028654"});
  z = GR_READ(r, &gr_op_add_scalar, GR_READ_ONE(r, &gr_op_tanh, z), {"by", "1"});
  return GR_READ(r, &gr_op_scale, GR_READ_TWO(r, &gr_op_mul, x, z), {"by", "0.5"});
}

static void read_gelu(gr_onnx_reading *r) {
  bool last, by_tanh = !strcmp(gr_read_text(r, "approximate", "none"), "tanh");
  int x = gr_read_as_is(r, 0, &last);
  gr_read_out(r, 0, by_tanh ? approximate(r, x) : GR_READ_ONE(r, &gr_op_gelu, x), last);
}

static const gr_case cases[] = {{{"f32[4,6]"}},
                                {{"f32[2,3,5]"}},
                                {{"bf16[4,6]"}},
                                {{"i32[4]"}, .fails = "takes floats, got i32"},
                                {{0}}};

const gr_op gr_op_gelu = {
    GR_POINTWISE_FIELDS(gelu),
    .doc = "x times the standard normal distribution function of x, computed with the exact erf.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .onnx = "Gelu",
    .from_onnx = GR_FROM_ONNX({"Gelu", read_gelu}),
    .cases = cases,
};

// One product is added to a sum, so that every compiler's loop fuses the same two operations.
GR_POINTWISE2(gelu_grad, (1 + erf(x0 * 0.70710678118654752f) +
                          x0 * 0.79788456080286536f * exp(-0.5f * x0 * x0)) *
                             (0.5f * x1))

// By x: (2 - x^2) times the normal density, times dy.
static void second(const gr_grad *g) {
  gr_builder *b = g->b;
  if (g->want[0]) {
    gr_val square = gr_square(b, g->x[0]);
    gr_val density = gr_scale(b, gr_exp(b, gr_scale(b, square, -0.5)), 0.3989422804014327);
    gr_val slope = gr_mul(b, density, gr_add_scalar(b, gr_neg(b, square), 2));
    g->dx[0] = gr_mul(b, slope, gr_mul(b, g->x[1], g->dy[0]));
  }
  if (g->want[1]) g->dx[1] = GR_EMIT(b, &gr_op_gelu_grad, NULL, g->x[0], g->dy[0]);
}

const gr_op gr_op_gelu_grad = {
    GR_POINTWISE_FIELDS(gelu_grad),
    .doc = "The gradient of gelu with respect to x, from x and dy.",
    .infer = gr_pointwise_infer_float,
    .grad = second,
    .cases = gr_gradient_cases,
};
