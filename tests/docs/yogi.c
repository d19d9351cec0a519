// yogi.c - Yogi (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018): Adam whose
// second moment moves by a share of the squared gradient, however far they are apart.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct yogi {
  double beta1, beta2, eps, initial;
} yogi;

GR_UPDATE(yogi, yogi,
          (EACH(w), EACH(g), EACH(m), EACH(v), ONE(lr), ONE(step), ONE(scale), ONE(ok),
           PARAM(beta1), PARAM(beta2), PARAM(eps), SHARED(rest1, 1 - beta1),
           SHARED(rest2, 1 - beta2), SHARED(rate, lr / (1 - pow(beta1, step + 1))),
           SHARED(root, 1 / sqrt(1 - pow(beta2, step + 1)))),
          (w, m, v),  // results
          const T d = g * scale, more = d * d;
          m = beta1 * m + rest1 * d; v = v + rest2 * more *
                                                 (v < more   ? 1.0f
                                                  : v > more ? -1.0f
                                                             : 0.0f);
          w = w - rate * m / (sqrt(v) * root + eps);)

static const gr_attr attrs[] = {
    GR_PARAM(yogi, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(yogi, beta2, "0.999", ">= 0 < 1", "1 minus the share of the squared gradient"),
    GR_PARAM(yogi, eps, "1e-3", "> 0", "added to the root of the second moment"),
    GR_PARAM(yogi, initial, "1e-6", ">= 0", "what the second moment starts as"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"},
               {"v", "second moment of gradients", .initial = "initial"}},
};
static const yogi usual = {0.9, 0.99, 1e-3, 1e-6};
#define OPERANDS_OF(t) t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, &usual, .fill = "nnnpsis1"},
    {{OPERANDS_OF("f32[5]")}, &usual, .fill = "nnnpsisz"},
    {{OPERANDS_OF("f32[5]"), "f64[]", "f64[]", "f64[]"}, &usual, .fill = "nnnpsis1sss"},
    {{0}}};

const gr_op gr_op_yogi = {
    GR_FORMULA_FIELDS(yogi),
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Yogi. beta1, beta2 and "
        "eps may be operands, too: f64[].",
    .attr_size = sizeof(yogi),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
