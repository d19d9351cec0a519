// lion.c - Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2):
// the step is the sign of a running mean of gradients, with decoupled weight decay. Lion has one
// state where Adam has two.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct lion {
  double beta1, beta2, weight_decay;
} lion;

GR_UPDATE(lion, lion,
          (EACH(w), EACH(g), EACH(m), ONE(lr), ONE(scale), ONE(ok), PARAM(beta1), PARAM(beta2),
           PARAM(weight_decay), SHARED(keep, 1 - lr * weight_decay), SHARED(rest1, 1 - beta1),
           SHARED(rest2, 1 - beta2)),
          (w, m),  // results
          const T d = g * scale, mean = beta1 * m + rest1 * d;
          const T sign = (mean > 0 ? 1.0f : 0.0f) - (mean < 0 ? 1.0f : 0.0f);
          w = w * keep - lr * sign; m = beta2 * m + rest2 * d;)

static const gr_attr attrs[] = {
    GR_PARAM(lion, beta1, "0.9", ">= 0 < 1",
             "weight of m in the interpolated gradient, whose sign is the step"),
    GR_PARAM(lion, beta2, "0.99", ">= 0 < 1", "decay of m, the running mean of gradients"),
    GR_PARAM(lion, weight_decay, "0", ">= 0",
             "decoupled: the weight is multiplied by 1 - lr weight_decay"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}},
};
static const lion usual = {0.9, 0.99, 0.01};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnnss1"},
    {{"f32[6,2,37]", "f32[6,2,37]", "f32[6,2,37]", "f32[]", "f32[]", "f32[]"},
     &usual,
     .fill = "nnnss1"},
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnnssz"},
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]"},
     &usual,
     .fill = "nnnss1sss"},
    {{"f32[4,6]", "f32[4,5]", "f32[4,6]", "f32[]", "f32[]", "f32[]"},
     &usual,
     .fails = "sizes 6 and 5 differ"},
    {{0}},
};

const gr_op gr_op_lion = {
    GR_FORMULA_FIELDS(lion),
    .doc =
        "w', m' from w, gradient, m, lr, gradient scale, ok: Lion, w - lr (sign(mean) + "
        "weight_decay w). The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(lion),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
