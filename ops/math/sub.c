// sub.c - elementwise difference.
#include "ops/kernels/pointwise.h"

gr_val gr_sub(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_sub, NULL, x, y); }

GR_POINTWISE2(sub, x0 - x1)

static void grad(const gr_grad *g) {
  g->dx[0] = g->dy[0];
  if (g->want[1]) g->dx[1] = gr_neg(g->b, g->dy[0]);
}

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]"}},
                                {{"i32[5]", "i32[5]"}, .fill = "ii"},
                                {{"f32[4]", "f32[5]"}, .fails = "sizes 4 and 5 differ"},
                                {{0}}};

const gr_op gr_op_sub = {
    GR_POINTWISE_FIELDS(sub),
    .doc = "x - y. The shapes must be equal.",
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Sub"}),
    .cases = cases,
};
