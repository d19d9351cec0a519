// cube.c - x x x.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(cube, (x0 * x0 * x0))

// dx = 3 x^2 dy. Emits nodes; rules may use the operands x, the results y, and what flows in, dy.
static void grad(const gr_grad *g) {
  g->dx[0] = gr_scale(g->b, gr_mul(g->b, g->dy[0], gr_square(g->b, g->x[0])), 3);
}

static const gr_case cases[] = {
    {{"f32[4,6]"}}, {{"f32[2,3,5]"}}, {{"i32[4]"}, .fails = "takes floats, got i32"}, {{0}}};

const gr_op gr_op_cube = {
    GR_POINTWISE_FIELDS(cube),
    .doc = "x to the third power.",
    .infer = gr_pointwise_infer_float,
    .grad = grad,
    .cases = cases,
};
