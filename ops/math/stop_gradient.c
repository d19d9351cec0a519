// stop_gradient.c - the identity, through which no gradient flows.
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(stop_gradient, x0)

static const gr_case cases[] = {{{"f32[4,6]"}, .fill = "c"}, {{"i32[5]"}, .fill = "i"}, {{0}}};

const gr_op gr_op_stop_gradient = {
    GR_POINTWISE_FIELDS(stop_gradient),
    .doc = "x; in the backward pass a constant.",
    .identity = true,
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = gr_grad_zero,
    .cases = cases,
};
