// adadelta.c - Adadelta (Zeiler, "ADADELTA: An adaptive learning rate method", 2012), as
// torch.optim.Adadelta: steps have the size of those before, so that lr is 1 by the paper.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

typedef struct adadelta {
  double rho, eps, weight_decay;
} adadelta;

GR_UPDATE(adadelta, adadelta,
          (EACH(w), EACH(g), EACH(v), EACH(moved), ONE(lr), ONE(scale), ONE(ok), PARAM(rho),
           PARAM(eps), PARAM(weight_decay), SHARED(rest, 1 - rho)),
          (w, v, moved),  // results
          const T d = g * scale + weight_decay * w;
          v = rho * v + rest * d * d; const T by = sqrt(moved + eps) / sqrt(v + eps) * d;
          moved = rho * moved + rest * by * by; w = w - lr * by;)

static const gr_attr attrs[] = {
    GR_PARAM(adadelta, rho, "0.9", ">= 0 < 1", "decay of both running means"),
    GR_PARAM(adadelta, eps, "1e-6", "> 0", "added to both means before their roots"),
    GR_PARAM(adadelta, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"v", "running mean of squared gradients"},
               {"moved", "running mean of squared steps"}},
};
static const adadelta usual = {0.8, 1e-3, 0.01};
#define OPERANDS_OF(t) \
  { t, t, t, t, "f32[]", "f32[]", "f32[]" }
static const gr_case cases[] = {
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnppss1"},
    {OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnppssz"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[5]", "f32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]"},
     .attr = &usual,
     .fill = "nnppss1sss"},
    {{0}},
};

const gr_op gr_op_adadelta = {
    GR_FORMULA_FIELDS(adadelta),
    .doc =
        "w', v', moved' from w, gradient, v, moved, lr, gradient scale, ok: v' = rho v + (1 - rho) "
        "d^2, by = d sqrt(moved + eps) / sqrt(v' + eps), moved' = rho moved + (1 - rho) by^2, w - "
        "lr by, d = g scale + weight_decay w. The attributes may be operands, too: f64[].",
    .attr_size = sizeof(adadelta),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
