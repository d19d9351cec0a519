// max.c - elementwise maximum.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_max(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_max, NULL, x, y); }

// NaN in either operand gives NaN.
GR_POINTWISE2(max, x0 > x1 || x0 != x0 ? x0 : x1)

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_max_grad(g->b, g->x[0], g->x[1], g->dy[0]);
  if (g->want[1]) g->dx[1] = gr_max_grad(g->b, g->x[1], g->x[0], g->dy[0]);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}}, {{"i32[5]", "i32[5]"}, .fill = "ii"}, {{0}}};

const gr_op gr_op_max = {
    GR_POINTWISE_FIELDS(max),
    .doc =
        "The larger of x and y; where they are equal, each gets half of the gradient. Along an "
        "axis: reduce_max.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .onnx = "Max",
    .from_onnx = GR_FROM_ONNX({"Max", gr_read_all}, {"Or", gr_read_logic}),
    .cases = cases,
};

gr_val gr_max_grad(gr_builder *b, gr_val x, gr_val y, gr_val dy) {
  return GR_EMIT(b, &gr_op_max_grad, NULL, x, y, dy);
}

GR_POINTWISE3(max_grad, x0 > x1 ? x2 : x0 == x1 ? 0.5f * x2 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]", "f32[4,6]"}},
                                     {{"f32[4,6]", "f32[4,6]", "f32[4,6]"}, .fill = "mmn"},
                                     {{0}}};

const gr_op gr_op_max_grad = {
    GR_POINTWISE_FIELDS(max_grad),
    .doc = "dy where x > y, half of it where they are equal, else 0.",
    .infer = gr_pointwise_infer,
    .grad = gr_grad_of_last,
    .cases = grad_cases,
};
