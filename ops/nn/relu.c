// relu.c - max(x, 0).
#include "ops/kernels/pointwise.h"

gr_val gr_relu(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_relu, NULL, x); }

// NaN stays NaN, so that finite_check detects a bad step.
GR_POINTWISE1(relu, x0 < 0 ? 0 : x0)

// Uses y instead of x, because y > 0 exactly if x > 0. Then x is dead after relu, which may run in
// place.
static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_relu_grad, NULL, g->y[0], g->dy[0]);
}

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"f32[2,3,5]"}}, {{0}}};

const gr_op gr_op_relu = {
    GR_POINTWISE_FIELDS(relu),
    .doc = "x where it is positive, else 0.",
    .n_in = 1,
    .index_spec = "...->...",
    .grad = grad,
    .onnx = "Relu",
    .cases = cases,
};

GR_POINTWISE2(relu_grad, x0 > 0 ? x1 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}}, {{0}}};

const gr_op gr_op_relu_grad = {
    GR_POINTWISE_FIELDS(relu_grad),
    .doc = "dy where y is positive, else 0: the gradient of relu, from its output y.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer,
    .cases = grad_cases,
};
