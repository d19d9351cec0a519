// adagrad.c - Adagrad (Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011), as
// torch.optim.Adagrad: steps shrink with the sum of all squared gradients.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct adagrad {
  double lr_decay, weight_decay, initial_accumulator_value, eps;
} adagrad;

GR_UPDATE(adagrad, adagrad,
          (EACH(w), EACH(g), EACH(sum), ONE(lr), ONE(step), ONE(scale), ONE(ok), PARAM(lr_decay),
           PARAM(weight_decay), PARAM(eps), SHARED(rate, lr / (1 + step * lr_decay))),
          (w, sum),  // results
          const T d = g * scale + weight_decay * w;
          sum = sum + d * d; w = w - rate * d / (sqrt(sum) + eps);)

static const gr_attr attrs[] = {
    GR_PARAM(adagrad, lr_decay, "0", ">= 0", "after t steps lr is divided by 1 + t lr_decay"),
    GR_PARAM(adagrad, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    GR_PARAM(adagrad, initial_accumulator_value, "0", ">= 0", "what the sum of squares starts as"),
    GR_PARAM(adagrad, eps, "1e-10", "> 0", "added to the root of the sum"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"sum", "sum of squared gradients", .initial = "initial_accumulator_value"}},
};
static const adagrad usual = {0.1, 0.01, 0.1, 1e-3};
#define OPERANDS_OF(t) \
  { t, t, t, "f32[]", "i32[]", "f32[]", "f32[]" }
static const gr_case cases[] = {
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnpsis1"},
    {OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnpsisz"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[]", "i32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]"},
     .attr = &usual,
     .fill = "nnpsis1sss"},
    {{0}},
};

const gr_op gr_op_adagrad = {
    GR_FORMULA_FIELDS(adagrad),
    .doc =
        "w', sum' from w, gradient, sum, lr, step, gradient scale, ok: sum' = sum + d^2, w - lr / "
        "(1 + step lr_decay) d / (sqrt(sum') + eps), d = g scale + weight_decay w. lr_decay, "
        "weight_decay and eps may be operands, too: f64[].",
    .attr_size = sizeof(adagrad),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
