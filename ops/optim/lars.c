// lars.c - LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017,
// algorithm 1): momentum by steps that are as long as the weight, times trust_coefficient. A weight
// of at most one dimension, a bias or one of a norm, moves by d itself, as implementations for
// large batches do.
//
//   d = g scale + weight_decay w,  local = trust_coefficient |w| / (|g scale| + weight_decay |w|)
//   m' = momentum m + lr local d,  w' = w - m';  local is 1 where |w| or |g| is 0
#include "ops/kernels/formula.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

typedef struct lars {
  double momentum, weight_decay, trust_coefficient;
} lars;

GR_UPDATE(lars, lars,
          (EACH(w), EACH(g), EACH(m), ONE(lr), ONE(scale), ONE(squares), ONE(squares_of_g), ONE(ok),
           PARAM(momentum), PARAM(weight_decay), PARAM(trust_coefficient),
           SHARED(size, sqrt(squares) * weight_decay + sqrt(squares_of_g) * fabs(scale)),
           SHARED(local,
                  squares > 0 && squares_of_g > 0 ? trust_coefficient * sqrt(squares) / size : 1),
           SHARED(rate, lr *local)),
          (w, m),  // results
          m = momentum * m + rate * (g * scale + weight_decay * w);
          w = w - m;)

static const gr_attr attrs[] = {
    GR_PARAM(lars, momentum, "0.9", ">= 0 < 1", "factor of the previous step"),
    GR_PARAM(lars, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    GR_PARAM(lars, trust_coefficient, "1e-3", "> 0", "length of a step, of lr and the weight's"),
    {0}};

enum { PARAMS = 3 };  // of attrs

static void emit(gr_optim_update *u) {
  gr_builder *b = u->b;
  bool is_vector = gr_at(b->g, u->w)->type.rank < 2, adjusted = gr_is(u->param[0]);
  gr_val none = is_vector ? gr_fill(b, &(gr_type){.dtype = GR_F32}, 0) : GR_NONE;
  gr_val of_w = is_vector ? none : gr_sum_squares(b, u->w);
  gr_val of_g = is_vector ? none : gr_sum_squares(b, u->g);
  gr_val in[8 + PARAMS] = {u->w, u->g, u->state[0], u->lr, u->scale, of_w, of_g, u->ok};
  for (int k = 0; adjusted && k < PARAMS; k++) in[8 + k] = u->param[k];
  gr_val out = gr_emit(b, u->op, u->attr, adjusted ? 8 + PARAMS : 8, in);
  if (gr_is(out)) u->next_w = out, u->next_state[0] = (gr_val){out.id + 1};
}

static const gr_optimizer optimizer = {
    .states = {{"m", "momentum buffer, the decayed sum of steps"}},
    .emit = emit,
};
static const lars usual = {0.9, 0.01, 0.1};
#define OPERANDS_OF(t) t, t, t, "f32[]", "f32[]", "f32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnsspp1"},
    {{OPERANDS_OF("f32[6,2,37]")}, .attr = &usual, .fill = "nnnsszp1"},
    {{OPERANDS_OF("f32[4,6]")}, .attr = &usual, .fill = "nnnssppz"},
    {{OPERANDS_OF("f32[4,6]"), "f64[]", "f64[]", "f64[]"}, .attr = &usual, .fill = "nnnsspp1sss"},
    {{0}},
};

const gr_op gr_op_lars = {
    GR_FORMULA_FIELDS(lars),
    .doc =
        "w', m' from w, gradient, m, lr, gradient scale, the sums of squares of w and of the "
        "gradient, ok: LARS. The attributes may be operands, too: f64[], in their order.",
    .attr_size = sizeof(lars),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
