// div.c - elementwise quotient.
#include "ops/kernels/pointwise.h"

gr_val gr_div(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_div, NULL, x, y); }

GR_POINTWISE2(div, x0 / x1)

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_div(g->b, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = gr_neg(g->b, gr_div(g->b, gr_mul(g->b, g->dy[0], g->y[0]), g->x[1]));
}

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]"}, .fill = "np"},
                                {{"i32[4]", "i32[4]"}, .fails = "takes floats, got i32"},
                                {{0}}};

const gr_op gr_op_div = {
    GR_POINTWISE_FIELDS(div),
    .doc = "x / y. The shapes must be equal.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .cases = cases,
};
