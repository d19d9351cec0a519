// radam.c - RAdam (Liu et al., "On the variance of the adaptive learning rate and beyond", 2020),
// as torch.optim.RAdam: while too few gradients were seen to know their variance, the step is that
// of momentum, and later Adam's by a factor that grows to 1.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct radam {
  double beta1, beta2, eps, weight_decay;
  int64_t decoupled_weight_decay;
} radam;

// most, length: rho of the paper, in the limit and after this step.
GR_UPDATE(radam, radam,
          (EACH(w), EACH(g), EACH(m), EACH(v), ONE(lr), ONE(step), ONE(scale), ONE(ok),
           PARAM(beta1), PARAM(beta2), PARAM(eps), PARAM(weight_decay),
           PARAM(decoupled_weight_decay), SHARED(rest1, 1 - beta1), SHARED(rest2, 1 - beta2),
           SHARED(faded, pow(beta2, step + 1)), SHARED(most, 2 / (1 - beta2) - 1),
           SHARED(length, most - 2 * (step + 1) * faded / (1 - faded)),
           SHARED(rate, lr / (1 - pow(beta1, step + 1))), SHARED(known, length > 5 ? 1 : 0),
           SHARED(adapted, known != 0 ? sqrt((length - 4) * (length - 2) * most /
                                             ((most - 4) * (most - 2) * length) * (1 - faded))
                                      : 0),
           SHARED(l2, decoupled_weight_decay != 0 ? 0 : weight_decay),
           SHARED(keep, decoupled_weight_decay != 0 ? 1 - lr * weight_decay : 1)),
          (w, m, v),  // results
          const T d = g * scale + l2 * w;
          m = beta1 * m + rest1 * d; v = beta2 * v + rest2 * d * d;
          w = w * keep - rate * m * (known != 0 ? adapted / (sqrt(v) + eps) : 1);)

static const gr_attr attrs[] = {
    GR_PARAM(radam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(radam, beta2, "0.999", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(radam, eps, "1e-8", "> 0", "added to the root of the second moment"),
    GR_PARAM(radam, weight_decay, "0", ">= 0", "L2, added to the gradient"),
    GR_ATTR(radam, decoupled_weight_decay, GR_ATTR_BOOL, "false",
            "w is multiplied by 1 - lr weight_decay instead, as by adamw"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}, {"v", "running mean of squared gradients"}},
};
static const radam usual = {0.9, 0.5, 1e-3, 0.01, 0}, apart = {0.9, 0.9, 1e-3, 0.01, 1};
#define OPERANDS_OF(t) t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnpsis1"},
    {{OPERANDS_OF("f32[6,2,37]")}, .attr = &apart, .fill = "nnnpsis1"},
    {{OPERANDS_OF("f32[4,6]")}, .attr = &apart, .fill = "nnnpsisz"},
    {{OPERANDS_OF("f32[5]"), "f64[]", "f64[]", "f64[]", "f64[]", "f64[]"},
     .attr = &apart,
     .fill = "nnnpsis1ssss1"},
    {{0}},
};

const gr_op gr_op_radam = {
    GR_FORMULA_FIELDS(radam),
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Adam whose step is "
        "rectified, or that of momentum while the variance of gradients is not known. The "
        "attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(radam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
