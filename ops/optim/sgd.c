// sgd.c - stochastic gradient descent, with optional momentum, Nesterov's too, as PyTorch defines
// it.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct sgd {
  double momentum;      // used if there is a state m
  double weight_decay;  // L2: added to the gradient
  int64_t nesterov;
} sgd;

GR_UPDATE(sgd_plain, sgd,
          (EACH(w), EACH(g), ONE(lr), ONE(scale), ONE(ok), PARAM(momentum), PARAM(weight_decay),
           PARAM(nesterov)),
          (w),  // result
          w = w - lr * (g * scale + weight_decay * w);)

GR_UPDATE(sgd_momentum, sgd,
          (EACH(w), EACH(g), ONE(lr), ONE(scale), ONE(ok), EACH(m), PARAM(momentum),
           PARAM(weight_decay), PARAM(nesterov)),
          (w, m),  // results
          const T d = g * scale + weight_decay * w;
          m = momentum * m + d; w = w - lr * (nesterov != 0 ? d + momentum * m : m);)

static gr_status sgd_cpu(const gr_launch *l) {
  bool plain = gr_formula_of(&gr_op_sgd, l->n_in) == &sgd_plain_formula;
  return (plain ? sgd_plain_cpu : sgd_momentum_cpu)(l);
}

static const gr_attr attrs[] = {
    GR_PARAM(sgd, momentum, "0", ">= 0 < 1", "factor of the previous step; 0: none"),
    GR_PARAM(sgd, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    GR_ATTR(sgd, nesterov, GR_ATTR_BOOL, "false",
            "Nesterov's momentum: the step is the gradient plus momentum times the buffer"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "momentum buffer, the decayed sum of gradients", .when = "momentum"}},
};
static const sgd plain = {0, 0.01, 0}, heavy = {0.9, 0.01, 0}, ahead = {0.9, 0.01, 1};
#define OPERANDS "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS}, .attr = &plain, .fill = "nnss1"},
    {{OPERANDS}, .attr = &plain, .fill = "nnssz"},
    {{OPERANDS, "f32[4,6]"}, .attr = &heavy, .fill = "nnss1n"},
    {{OPERANDS, "f32[4,6]"}, .attr = &heavy, .fill = "nnsszn"},
    {{OPERANDS, "f32[4,6]"}, .attr = &ahead, .fill = "nnss1n"},
    {{OPERANDS, "f64[]", "f64[]", "f64[]"}, .attr = &plain, .fill = "nnss1ssz"},
    {{OPERANDS, "f32[4,6]", "f64[]", "f64[]", "f64[]"}, .attr = &heavy, .fill = "nnss1nssz"},
    {{OPERANDS, "f32[4,6]", "f64[]", "f64[]", "f64[]"}, .attr = &ahead, .fill = "nnss1nss1"},
    {{0}},
};

const gr_op gr_op_sgd = {
    .name = "sgd",
    .formulas = GR_FORMULAS(&sgd_plain_formula, &sgd_momentum_formula),
    .cpu = sgd_cpu,
    .fast = gr_formula_fast,
    .doc =
        "w' from w, gradient, lr, gradient scale, ok: w - lr d, d = g scale + weight_decay w. With "
        "the optional operand m also m' = momentum m + d, and w' = w - lr m', or with nesterov w - "
        "lr "
        "(d + momentum m'). The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(sgd),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
