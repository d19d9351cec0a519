// mul.c - elementwise product.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_mul(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_mul, NULL, x, y); }

GR_POINTWISE2(mul, (x0 * x1))

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_mul(g->b, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = gr_mul(g->b, g->dy[0], g->x[0]);
}

static void read_and(gr_onnx_reading *r) { gr_read_logic(r, &gr_op_mul); }

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}},
    {{"i32[5]", "i32[5]"}, .fill = "ii"},
    {{"f32[4]", "i32[4]"}, .fails = "operand 1 is i32, but operand 0 is f32"},
    {{0}},
};

const gr_op gr_op_mul = {
    GR_POINTWISE_FIELDS(mul),
    .doc = "x * y. The shapes must be equal.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Mul"}, {"And", read_and}),
    .cases = cases,
};
