// adamax.c - Adamax (Kingma and Ba, "Adam", 2015, section 7.1), as torch.optim.Adamax: steps are
// divided by a decaying maximum of gradients instead of the root of their mean square. A gradient
// of 0 adds no eps, so that padding of zeros stays as it is: by then m is 0, too, where that would
// count.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

GR_UPDATE(adamax, gr_adam,
          (EACH(w), EACH(g), EACH(m), EACH(u), ONE(lr), ONE(step), ONE(scale), ONE(ok),
           PARAM(beta1), PARAM(beta2), PARAM(eps), PARAM(weight_decay), SHARED(rest, 1 - beta1),
           SHARED(rate, lr / (1 - pow(beta1, step + 1)))),
          (w, m, u),  // results
          const T d = g * scale + weight_decay * w, size = d != 0 ? fabs(d) + eps : d;
          m = beta1 * m + rest * d; u = size > beta2 * u ? size : beta2 * u;
          w = w - (u > 0 ? rate * m / u : u);)

static const gr_attr attrs[] = {
    GR_PARAM(gr_adam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(gr_adam, beta2, "0.999", ">= 0 < 1", "decay of the maximum of gradients"),
    GR_PARAM(gr_adam, eps, "1e-8", "> 0", "added to the absolute value of each gradient"),
    GR_PARAM(gr_adam, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}, {"u", "decaying maximum of gradients"}},
};
static const gr_adam usual = {0.9, 0.99, 1e-3, 0.01};
#define OPERANDS_OF(t) t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnpsis1"},
    {{OPERANDS_OF("f32[6,2,37]")}, .attr = &usual, .fill = "nnnpsisz"},
    {{OPERANDS_OF("f32[5]"), "f64[]", "f64[]", "f64[]", "f64[]"},
     .attr = &usual,
     .fill = "nnnpsis1ssss"},
    {{0}},
};

const gr_op gr_op_adamax = {
    GR_FORMULA_FIELDS(adamax),
    .doc =
        "w', m', u' from w, gradient, m, u, lr, step, gradient scale, ok: m' = beta1 m + (1 - "
        "beta1) d, u' = max(beta2 u, |d| + eps), w - lr / (1 - beta1^(step + 1)) m' / u', d = g "
        "scale + weight_decay w. The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(gr_adam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
