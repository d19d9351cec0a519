// add.c - elementwise sum.
#include "ops/kernels/pointwise.h"

gr_val gr_add(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_add, NULL, x, y); }

GR_POINTWISE2(add, x0 + x1)

static void grad(const gr_grad *g) {
  g->dx[0] = g->dy[0];
  g->dx[1] = g->dy[0];
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}},
    {{"i32[5]", "i32[5]"}, .fill = "ii"},
    {{"f32[]", "f32[]"}},
    {{"bf16[40,30]", "bf16[40,30]"}},
    {{"f32[4,6]", "f32[6]"}, .fails = "1 axis"},  // ops never broadcast implicitly: see broadcast
    {{"f32[6,6]", "f32[6]"}, .fails = "1 axis"},
    {{"f32[4,6]", "f32[4,5]"}, .fails = "sizes 6 and 5 differ"},
    {{"f32[4]", "bf16[4]"}, .fails = "operand 1 is bf16, but operand 0 is f32"},
    {{"f32[4]"}, .fails = "takes 2 operands, got 1"},
    {{0}},
};

const gr_op gr_op_add = {
    GR_POINTWISE_FIELDS(add),
    .doc = "x + y. The shapes must be equal.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = grad,
    .cases = cases,
};
