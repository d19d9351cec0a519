// nadam.c - NAdam (Dozat, "Incorporating Nesterov momentum into Adam", 2016), as torch.optim.NAdam:
// at step t the momentum is mu(t) = beta1 (1 - 0.96^(t momentum_decay) / 2), and the step looks one
// of them ahead. The product of all of them is a state, kept as its difference from 1.
#include "ops/kernels/formula.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

typedef struct nadam {
  double beta1, beta2, eps, weight_decay, momentum_decay;
  int64_t decoupled_weight_decay;
} nadam;

static const gr_attr attrs[] = {
    GR_PARAM(nadam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(nadam, beta2, "0.999", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(nadam, eps, "1e-8", "> 0", "added to the root of the second moment"),
    GR_PARAM(nadam, weight_decay, "0", ">= 0", "L2, added to the gradient"),
    GR_PARAM(nadam, momentum_decay, "4e-3", ">= 0", "how fast the momentum grows to beta1"),
    GR_ATTR(nadam, decoupled_weight_decay, GR_ATTR_BOOL, "false",
            "w is multiplied by 1 - lr weight_decay instead, as by adamw"),
    {0}};
static const nadam usual = {0.9, 0.99, 1e-3, 0.01, 4e-3, 0}, apart = {0.9, 0.99, 1e-3, 0.1, 0.5, 1};

// ---- The product of momentums -------------------------------------------------------------------

GR_UPDATE(nadam_product, nadam,
          (EACH(gone), ONE(step), ONE(ok), PARAM(beta1), PARAM(momentum_decay),
           SHARED(mu, (1 - pow(0.96, (step + 1) * momentum_decay) / 2) * beta1),
           SHARED(rest, 1 - mu)),
          (gone),  // result
          gone = gone * mu + rest;)

static const gr_case product_cases[] = {
    {{"f32[]", "i32[]", "f32[]"}, .attr = &usual, .fill = "pi1"},
    {{"f32[]", "i32[]", "f32[]"}, .attr = &usual, .fill = "piz"},
    {{"f32[]", "i32[]", "f32[]", "f64[]", "f64[]"}, .attr = &usual, .fill = "pi1ss"},
    {{0}}};

const gr_op gr_op_nadam_product = {
    GR_FORMULA_FIELDS(nadam_product),
    .doc = "gone' from gone, step, ok: 1 minus the product of all of NAdam's momentums.",
    .attr_size = sizeof(nadam),
    .attrs = attrs,
    GR_FORMULA_OPERANDS,
    .cases = product_cases,
};

// ---- The step -----------------------------------------------------------------------------------

// gone: of this step.
GR_UPDATE(nadam, nadam,
          (EACH(w), EACH(g), EACH(m), EACH(v), ONE(gone), ONE(lr), ONE(step), ONE(scale), ONE(ok),
           PARAM(beta1), PARAM(beta2), PARAM(eps), PARAM(weight_decay), PARAM(momentum_decay),
           PARAM(decoupled_weight_decay), SHARED(rest1, 1 - beta1), SHARED(rest2, 1 - beta2),
           SHARED(mu, (1 - pow(0.96, (step + 1) * momentum_decay) / 2) * beta1),
           SHARED(ahead, (1 - pow(0.96, (step + 2) * momentum_decay) / 2) * beta1),
           SHARED(of_d, (1 - mu) * lr / gone), SHARED(of_m, ahead / (1 - (1 - gone) * ahead) * lr),
           SHARED(root, 1 / sqrt(1 - pow(beta2, step + 1))),
           SHARED(l2, decoupled_weight_decay != 0 ? 0 : weight_decay),
           SHARED(keep, decoupled_weight_decay != 0 ? 1 - lr * weight_decay : 1)),
          (w, m, v),  // results
          const T d = g * scale + l2 * w;
          m = beta1 * m + rest1 * d; v = beta2 * v + rest2 * d * d;
          w = w * keep - (of_d * d + of_m * m) / (sqrt(v) * root + eps);)

enum { M, V, GONE };
enum { BETA1 = 0, MOMENTUM_DECAY = 4, PARAMS = 6 };  // of attrs

static void emit(gr_optim_update *u) {
  bool adjusted = gr_is(u->param[BETA1]);
  gr_val gone = gr_emit(
      u->b, &gr_op_nadam_product, u->attr, adjusted ? 5 : 3,
      (gr_val[]){u->state[GONE], u->step, u->ok, u->param[BETA1], u->param[MOMENTUM_DECAY]});
  gr_val in[9 + PARAMS] = {u->w,  u->g,    u->state[M], u->state[V], gone,
                           u->lr, u->step, u->scale,    u->ok};
  for (int k = 0; adjusted && k < PARAMS; k++) in[9 + k] = u->param[k];
  gr_val out = gr_emit(u->b, u->op, u->attr, adjusted ? 9 + PARAMS : 9, in);
  if (!gr_is(out)) return;
  u->next_w = out, u->next_state[GONE] = gone;
  u->next_state[M] = (gr_val){out.id + 1}, u->next_state[V] = (gr_val){out.id + 2};
}

static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"},
               {"v", "running mean of squared gradients"},
               {"gone", "1 minus the product of momentums", .shape = GR_OPTIM_SCALAR}},
    .emit = emit,
};
#define OPERANDS_OF(t) t, t, t, t, "f32[]", "f32[]", "i32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnppsis1"},
    {{OPERANDS_OF("f32[6,2,37]")}, .attr = &apart, .fill = "nnnppsis1"},
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnppsisz"},
    {{OPERANDS_OF("f32[5]"), "f64[]", "f64[]", "f64[]", "f64[]", "f64[]", "f64[]"},
     .attr = &apart,
     .fill = "nnnppsis1sssss1"},
    {{0}},
};

const gr_op gr_op_nadam = {
    GR_FORMULA_FIELDS(nadam),
    .doc =
        "w', m', v' from w, gradient, m, v, gone of this step, lr, step, gradient scale, ok: Adam "
        "with Nesterov's momentum. The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(nadam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
