// square.c - square of each element.
#include "ops/kernels/pointwise.h"

gr_val gr_square(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_square, NULL, x); }

GR_POINTWISE1(square, (x0 * x0))

static void grad(const gr_grad *g) {
  g->dx[0] = gr_scale(g->b, gr_mul(g->b, g->dy[0], g->x[0]), 2);
}

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"i32[4]"}, .fill = "i"}, {{0}}};

const gr_op gr_op_square = {
    GR_POINTWISE_FIELDS(square),
    .doc = "x squared.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .cases = cases,
};
