// lamb.c - LAMB (You et al., "Large batch optimization for deep learning: training BERT in 76
// minutes", 2020, algorithm 2): Adam's direction r, by a step that is as long as the weight.
//
//   r = m'/(1 - beta1^t) / (sqrt(v'/(1 - beta2^t)) + eps) + weight_decay w
//   w' = w - lr |w| / |r| r,   or w - lr r where |w| or |r| is 0
//
// Both norms are of the whole weight: ops of their own, so that the rest may be split over ranks.
#include "ops/kernels/formula.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

static const gr_attr attrs[] = {
    GR_PARAM(gr_adam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(gr_adam, beta2, "0.999", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(gr_adam, eps, "1e-6", "> 0", "added to the root of the second moment"),
    GR_PARAM(gr_adam, weight_decay, "0", ">= 0", "of w in the direction"),
    {0}};
static const gr_adam usual = {0.9, 0.99, 1e-3, 0.01};

// ---- The direction ------------------------------------------------------------------------------

GR_UPDATE(lamb_direction, gr_adam,
          (EACH(w), EACH(g), EACH(m), EACH(v), ONE(step), ONE(scale), ONE(ok), PARAM(beta1),
           PARAM(beta2), PARAM(eps), PARAM(weight_decay), SHARED(rest1, 1 - beta1),
           SHARED(rest2, 1 - beta2), SHARED(mean, 1 / (1 - pow(beta1, step + 1))),
           SHARED(root, 1 / sqrt(1 - pow(beta2, step + 1)))),
          (g, m, v),  // results
          const T d = g * scale;
          m = beta1 * m + rest1 * d; v = beta2 * v + rest2 * d * d;
          g = mean * m / (sqrt(v) * root + eps) + weight_decay * w;)

#define OPERANDS_OF(t) t, t, t, t, "i32[]", "f32[]", "f32[]"
static const gr_case direction_cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnpis1"},
    {{OPERANDS_OF("f32[6,2,37]")}, .attr = &usual, .fill = "nnnpisz"},
    {{OPERANDS_OF("f32[5]"), "f64[]", "f64[]", "f64[]", "f64[]"},
     .attr = &usual,
     .fill = "nnnpis1ssss"},
    {{0}}};

const gr_op gr_op_lamb_direction = {
    GR_FORMULA_FIELDS(lamb_direction),
    .doc =
        "r, m', v' from w, gradient, m, v, step, gradient scale, ok: LAMB's direction. The "
        "attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(gr_adam),
    .attrs = attrs,
    GR_FORMULA_OPERANDS,
    .padding = GR_PADDING_PRESERVED,
    .cases = direction_cases,
};

// ---- The step -----------------------------------------------------------------------------------

GR_UPDATE(lamb, gr_adam,
          (EACH(w), EACH(r), ONE(lr), ONE(squares), ONE(squares_of_r), ONE(ok),
           SHARED(rate, squares > 0 && squares_of_r > 0 ? lr * sqrt(squares / squares_of_r) : lr)),
          (w),  // result
          w = w - rate * r;)

enum { M, V, PARAMS = 4 };

static void emit(gr_optim_update *u) {
  gr_builder *b = u->b;
  bool adjusted = gr_is(u->param[0]);
  gr_val in[7 + PARAMS] = {u->w, u->g, u->state[M], u->state[V], u->step, u->scale, u->ok};
  for (int k = 0; adjusted && k < PARAMS; k++) in[7 + k] = u->param[k];
  gr_val r = gr_emit(b, &gr_op_lamb_direction, u->attr, adjusted ? 7 + PARAMS : 7, in);
  gr_val squares = gr_sum_squares(b, u->w), of_r = gr_sum_squares(b, r);
  u->next_w = GR_EMIT(b, u->op, u->attr, u->w, r, u->lr, squares, of_r, u->ok);
  if (b->err) return;
  u->next_state[M] = (gr_val){r.id + 1}, u->next_state[V] = (gr_val){r.id + 2};
}

static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}, {"v", "running mean of squared gradients"}},
    .emit = emit,
};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnspp1"},
    {{"f32[6,2,37]", "f32[6,2,37]", "f32[]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnspz1"},
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnsppz"},
    {{0}},
};

const gr_op gr_op_lamb = {
    GR_FORMULA_FIELDS(lamb),
    .doc = "w' from w, direction r, lr, the sums of squares of w and of r, ok: LAMB's step.",
    .attr_size = sizeof(gr_adam),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
