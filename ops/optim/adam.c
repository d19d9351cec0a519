// adam.c - Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), in the order of
// operations that PyTorch documents. They differ only in where the weight decay is applied.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

// l2: the factor of w in the gradient; keep: in the update.
#define ADAM(name, L2, KEEP)                                                                      \
  GR_UPDATE(                                                                                      \
      name, gr_adam,                                                                              \
      (EACH(w), EACH(g), EACH(m), EACH(v), ONE(lr), ONE(step), ONE(scale), ONE(ok), PARAM(beta1), \
       PARAM(beta2), PARAM(eps), PARAM(weight_decay), SHARED(rest1, 1 - beta1),                   \
       SHARED(rest2, 1 - beta2), SHARED(rate, lr / (1 - pow(beta1, step + 1))),                   \
       SHARED(root, 1 / sqrt(1 - pow(beta2, step + 1))), SHARED(l2, L2), SHARED(keep, KEEP)),     \
      (w, m, v), const T d = g * scale + l2 * w;                                                  \
      m = beta1 * m + rest1 * d; v = beta2 * v + rest2 * d * d;                                   \
      w = w * keep - rate * m / (sqrt(v) * root + eps);)
ADAM(adam, weight_decay, 1)
ADAM(adamw, 0, 1 - lr * weight_decay)

static const gr_attr attrs[] = {
    GR_PARAM(gr_adam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(gr_adam, beta2, "0.999", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(gr_adam, eps, "1e-8", "> 0", "added to the root of the second moment"),
    GR_PARAM(gr_adam, weight_decay, "0", ">= 0",
             "adam: L2, added to the gradient; adamw: decoupled, w is multiplied by 1 - lr "
             "weight_decay"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}, {"v", "running mean of squared gradients"}},
};
static const gr_adam usual = {0.9, 0.999, 1e-8, 0.01};
#define OPERANDS_OF(t) \
  { t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]" }
#define ALL_OPERANDS_OF(t) \
  { t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]", "f64[]" }
static const gr_case cases[] = {
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsis1"},
    {OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnnpsis1"},
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsisz"},
    {ALL_OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsis1ssss"},
    {ALL_OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnnpsis1ssss"},
    {{0}},
};

const gr_op gr_op_adam = {
    GR_FORMULA_FIELDS(adam),
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Adam with L2 weight "
        "decay. The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(gr_adam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};

const gr_op gr_op_adamw = {
    GR_FORMULA_FIELDS(adamw),
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Adam with decoupled "
        "weight decay. The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(gr_adam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
