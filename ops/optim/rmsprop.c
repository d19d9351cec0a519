// rmsprop.c - RMSprop (Tieleman and Hinton, "Neural networks for machine learning", lecture 6.5,
// 2012), as torch.optim.RMSprop without `centered`.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct rmsprop {
  double alpha, eps;
  double weight_decay;  // L2: added to the gradient
  double momentum;      // used if there is a state m
} rmsprop;

GR_UPDATE(rmsprop_plain, rmsprop,
          (EACH(w), EACH(g), EACH(v), ONE(lr), ONE(scale), ONE(ok), PARAM(alpha), PARAM(eps),
           PARAM(weight_decay), PARAM(momentum), SHARED(rest, 1 - alpha)),
          (w, v),  // results
          const T d = g * scale + weight_decay * w;
          v = alpha * v + rest * d * d; w = w - lr * d / (sqrt(v) + eps);)

GR_UPDATE(rmsprop_momentum, rmsprop,
          (EACH(w), EACH(g), EACH(v), EACH(m), ONE(lr), ONE(scale), ONE(ok), PARAM(alpha),
           PARAM(eps), PARAM(weight_decay), PARAM(momentum), SHARED(rest, 1 - alpha)),
          (w, v, m),  // results
          const T d = g * scale + weight_decay * w;
          v = alpha * v + rest * d * d; m = momentum * m + d / (sqrt(v) + eps); w = w - lr * m;)

static gr_status rmsprop_cpu(const gr_launch *l) {
  bool plain = gr_formula_of(&gr_op_rmsprop, l->n_in) == &rmsprop_plain_formula;
  return (plain ? rmsprop_plain_cpu : rmsprop_momentum_cpu)(l);
}

static const gr_attr attrs[] = {
    GR_PARAM(rmsprop, alpha, "0.99", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(rmsprop, eps, "1e-8", "> 0", "added to the root of that mean"),
    GR_PARAM(rmsprop, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    GR_PARAM(rmsprop, momentum, "0", ">= 0 < 1", "factor of the previous step; 0: none"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"v", "running mean of squared gradients"},
               {"m", "momentum buffer, the decayed sum of steps", .when = "momentum"}},
};
static const rmsprop plain = {0.9, 1e-8, 0.01, 0}, heavy = {0.9, 1e-8, 0.01, 0.9};
#define SCALARS "f32[]", "f32[]", "f32[]"
#define PARAMS "f64[]", "f64[]", "f64[]", "f64[]"
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", SCALARS}, .attr = &plain, .fill = "nnpss1"},
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", SCALARS}, .attr = &plain, .fill = "nnpssz"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[5]", SCALARS}, .attr = &heavy, .fill = "nnpnss1"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[5]", SCALARS}, .attr = &heavy, .fill = "nnpnssz"},
    {{"f32[5]", "f32[5]", "f32[5]", SCALARS, PARAMS}, .attr = &plain, .fill = "nnpss1ssss"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[5]", SCALARS, PARAMS}, &heavy, .fill = "nnpnss1ssss"},
    {{0}},
};

const gr_op gr_op_rmsprop = {
    .name = "rmsprop",
    .formulas = GR_FORMULAS(&rmsprop_plain_formula, &rmsprop_momentum_formula),
    .cpu = rmsprop_cpu,
    .fast = gr_formula_fast,
    .doc =
        "w', v' from w, gradient, v, lr, gradient scale, ok: v' = alpha v + (1 - alpha) d^2, w - "
        "lr d / (sqrt(v') + eps), d = g scale + weight_decay w. With the operand m after v also m' "
        "= momentum m + d / (sqrt(v') + eps), and w' = w - lr m'. The attributes may be operands, "
        "too: f64[], in their order.",
    .attr_size = sizeof(rmsprop),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
