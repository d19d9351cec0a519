// averaged.c - a weight that a model reads as its average (`weights: averaged` of the graph
// language): the target network of BYOL (Grill et al., 2020) and of Q-learning, the momentum
// encoder of MoCo (He et al., 2020), a mean teacher (Tarvainen and Valpola, 2017).
#include "ops/kernels/pointwise.h"

GR_POINTWISE1(averaged, x0)

static const gr_case cases[] = {{{"f32[4,6]"}, .fill = "c"}, {{0}}};

const gr_op gr_op_averaged = {
    GR_POINTWISE_FIELDS(averaged),
    .doc =
        "x, a weight, in the place of which programs read its average (training.ema_decay) if it "
        "has one; in the backward pass a constant.",
    .identity = true,
    .linear = true,
    .infer = gr_pointwise_infer,
    .grad = gr_grad_zero,
    .cases = cases,
};
