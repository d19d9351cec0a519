// adagrad.c - Adagrad (Duchi, Hazan and Singer, 2011), as torch.optim.Adagrad without lr_decay.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct adagrad {
  double eps, initial;
} adagrad;

GR_UPDATE(adagrad, adagrad, (EACH(w), EACH(g), EACH(sum), ONE(lr), ONE(scale), ONE(ok), PARAM(eps)),
          (w, sum),  // results
          const T d = g * scale;
          sum = sum + d * d; w = w - lr * d / (sqrt(sum) + eps);)

static const gr_attr attrs[] = {
    GR_PARAM(adagrad, eps, "1e-10", "> 0", "added to the root of the sum"),
    GR_PARAM(adagrad, initial, "0.1", ">= 0", "what the sum of squares starts as"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"sum", "sum of squared gradients", .initial = "initial"}},
};
static const adagrad usual = {1e-10, 0.1};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnpss1"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnpssz"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[]", "f32[]", "f32[]", "f64[]"}, &usual, .fill = "nnpss1s"},
    {{0}}};

const gr_op gr_op_adagrad = {
    GR_FORMULA_FIELDS(adagrad),
    .doc =
        "w', sum' from w, gradient, sum, lr, gradient scale, ok: w - lr g / (sqrt(sum') + eps). "
        "eps may be an operand, too: f64[].",
    .attr_size = sizeof(adagrad),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
