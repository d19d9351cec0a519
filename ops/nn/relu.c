// relu.c - max(x, 0).
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_relu(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_relu, NULL, x); }

// NaN stays NaN, so that finite_check detects a bad step.
GR_POINTWISE1(relu, x0 < 0 ? 0 : x0)

// Uses y instead of x, because y > 0 exactly if x > 0. Then x is dead after relu, which may run in
// place.
static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_relu_grad, NULL, g->y[0], g->dy[0]);
}

// x where it is positive, else what is given.
static int or_else(gr_onnx_reading *r, int x, int y) {
  const int in[] = {GR_READ_TWO(r, &gr_op_less, gr_read_number(r, 0), x), x, y};
  return gr_read_emit(r, &gr_op_where, 3, in, 0, NULL);
}

static void read_leaky(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  const char *slope = gr_arena_printf(r->arena, "%.8g", gr_read_float(r, "alpha", 0.01));
  gr_read_out(r, 0, or_else(r, x, GR_READ(r, &gr_op_scale, x, {"by", slope})), last);
}

// The slope is a weight, also if it is one number.
static void read_prelu(gr_onnx_reading *r) {
  int in[2] = {0};
  bool last = gr_read_together(r, 2, in);
  if (!r->err && gr_read_is_known(r, in[1])) r->vars[in[1]].weight = true;
  gr_read_out(r, 0, or_else(r, in[0], GR_READ_TWO(r, &gr_op_mul, in[0], in[1])), last);
}

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"f32[2,3,5]"}}, {{0}}};

const gr_op gr_op_relu = {
    GR_POINTWISE_FIELDS(relu),
    .doc = "x where it is positive, else 0.",
    .grad = grad,
    .onnx = "Relu",
    .from_onnx = GR_FROM_ONNX({"Relu"}, {"LeakyRelu", read_leaky}, {"PRelu", read_prelu}),
    .cases = cases,
};

GR_POINTWISE2(relu_grad, x0 > 0 ? x1 : 0)

const gr_op gr_op_relu_grad = {
    GR_POINTWISE_FIELDS(relu_grad),
    .doc = "dy where y is positive, else 0: the gradient of relu, from its output y.",
    .infer = gr_pointwise_infer,
    .grad = gr_grad_of_last,
    .cases = gr_gradient_cases,
};
