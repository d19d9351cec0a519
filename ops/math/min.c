// min.c - elementwise minimum.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_min(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_min, NULL, x, y); }

// NaN in either operand gives NaN.
GR_POINTWISE2(min, x0 < x1 || x0 != x0 ? x0 : x1)

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_max_grad(g->b, g->x[1], g->x[0], g->dy[0]);
  if (g->want[1]) g->dx[1] = gr_max_grad(g->b, g->x[0], g->x[1], g->dy[0]);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}}, {{"i32[5]", "i32[5]"}, .fill = "ii"}, {{0}}};

const gr_op gr_op_min = {
    GR_POINTWISE_FIELDS(min),
    .doc = "The smaller of x and y; where they are equal, each gets half of the gradient.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .onnx = "Min",
    .from_onnx = GR_FROM_ONNX({"Min", gr_read_all}),
    .cases = cases,
};
