// muon.c - Muon (Jordan, "Muon: An optimizer for hidden layers in neural networks", 2024), as
// torch.optim.Muon has it: a matrix moves by its momentum with all singular values brought near 1,
// by five Newton-Schulz steps. A weight of more axes is the matrix of its first axis by all others;
// one of at most one axis is updated by AdamW.
//
//   m' = m + (1 - momentum) (g - m),  u = nesterov ? g + momentum (m' - g) : m',  x = u / |u|
//   five times:  s = x x',  x = 3.4445 x + (-4.775 s + 2.0315 s s) x
//   w' = w (1 - lr weight_decay) - lr factor x
//
// s is of the shorter side: x' x where x has as many rows as columns or more. Where states are
// split, u comes together and each rank makes all of x. With `split` x is along its longer side: s
// is a sum over that, and the product with x needs no other part of x, so ranks share the work, and
// send s.
#include <math.h>
#include <string.h>
#include "ops/kernels/formula.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

typedef struct muon {
  double momentum;
  int64_t nesterov;
  double weight_decay, match_rms, adamw_lr_factor, beta1, beta2, eps;
  int64_t split;
  double factor;
} muon;

static const gr_attr attrs[] = {
    GR_PARAM(muon, momentum, "0.95", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_ATTR(muon, nesterov, GR_ATTR_BOOL, "true", "Nesterov's momentum"),
    GR_PARAM(muon, match_rms, "0", ">= 0",
             "0: a matrix moves by lr sqrt(max(1, rows / columns)); else by lr match_rms "
             "sqrt(the larger of both): 0.2 moves it as AdamW would (Liu et al., 2025)"),
    GR_PARAM(muon, adamw_lr_factor, "1", ">= 0", "of lr, for weights of at most one dimension"),
    GR_PARAM(muon, beta1, "0.9", ">= 0 < 1", "of AdamW"),
    GR_PARAM(muon, beta2, "0.999", ">= 0 < 1", "of AdamW"),
    GR_PARAM(muon, eps, "1e-8", "> 0", "of AdamW"),
    GR_PARAM(muon, weight_decay, "0.1", ">= 0", "w is multiplied by 1 - lr weight_decay"),
    GR_ATTR(muon, split, GR_ATTR_BOOL, "false",
            "ranks with parts of a matrix share its products, and send ten squares of its shorter "
            "side instead of the matrix"),
    GR_ATTR(muon, factor, GR_ATTR_FLOAT, NULL, "of lr, by the sizes of the matrix"),
    {0}};

// ---- The momentum -------------------------------------------------------------------------------

GR_UPDATE(muon_momentum, muon,
          (EACH(g), EACH(m), ONE(scale), ONE(ok), PARAM(momentum), PARAM(nesterov)),
          (g, m),  // results
          const T d = g * scale;
          m = m + (1 - momentum) * (d - m); g = nesterov != 0 ? d + momentum * (m - d) : m;)

static const muon ahead = {.momentum = 0.95, .nesterov = 1}, plain = {.momentum = 0.9};
static const gr_case momentum_cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]"}, .attr = &ahead, .fill = "nns1"},
    {{"f32[6,2,37]", "f32[6,2,37]", "f32[]", "f32[]"}, .attr = &plain, .fill = "nns1"},
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]"}, .attr = &ahead, .fill = "nnsz"},
    {{0}}};

const gr_op gr_op_muon_momentum = {
    GR_FORMULA_FIELDS(muon_momentum),
    .doc = "u and m' from gradient, m, gradient scale, ok: Muon's direction and its running mean.",
    .attr_size = sizeof(muon),
    .attrs = attrs,
    GR_FORMULA_OPERANDS,
    .padding = GR_PADDING_PRESERVED,
    .cases = momentum_cases,
};

// ---- The first x --------------------------------------------------------------------------------

typedef struct muon_unit {
  int64_t split, wide;
} muon_unit;

GR_FORMULA(muon_unit, muon_unit, (EACH(u), ONE(squares), SHARED(by, 1 / fmax(sqrt(squares), 1e-7))),
           (u),  // result
           u = u * by;)

static void unit_spec(const gr_op_call *c, char buf[128]) {
  const muon_unit *a = c->attr;
  snprintf(buf, 128, "%s", !a->split ? "RC,->RC" : a->wide ? "Rc,->Rc" : "rC,->rC");
}

static const gr_attr unit_attrs[] = {
    GR_ATTR(muon_unit, split, GR_ATTR_BOOL, NULL, "it may be split over ranks: its rows"),
    GR_ATTR(muon_unit, wide, GR_ATTR_BOOL, NULL, "its columns instead"),
    {0}};
static const muon_unit wide = {1, 1}, high = {1, 0}, whole = {0, 1};
static const gr_case unit_cases[] = {{{"f32[4,6]", "f32[]"}, .attr = &wide, .fill = "np"},
                                     {{"f32[60,7]", "f32[]"}, .attr = &high, .fill = "nz"},
                                     {{"f32[4,6]", "f32[]"}, .attr = &whole, .fill = "np"},
                                     {{0}}};

const gr_op gr_op_muon_unit = {
    GR_FORMULA_FIELDS(muon_unit),
    .doc = "A matrix divided by the root of its sum of squares, or by 1e-7 if that is more.",
    .n_in = 2,
    .attr_size = sizeof(muon_unit),
    .attrs = unit_attrs,
    .index_spec_of = unit_spec,
    .cases = unit_cases,
};

// ---- The step -----------------------------------------------------------------------------------

GR_UPDATE(muon, muon,
          (EACH(w), EACH(x), ONE(lr), ONE(ok), PARAM(weight_decay), PARAM(factor),
           SHARED(keep, 1 - lr * weight_decay), SHARED(rate, 0 - lr * factor)),
          (w),  // result
          w = w * keep + rate * x;)

// The product of x and y in training.precision, whose sums are f32.
static gr_val product(const gr_optim_update *u, gr_val x, gr_val y, bool ta, bool tb) {
  gr_dtype to = gr_is_narrow(u->products) ? u->products : GR_F32;
  gr_val a = gr_cast(u->b, x, to), b = gr_cast(u->b, y, to);
  return gr_cast_product(u->b, gr_matmul(u->b, a, b, ta, tb), GR_F32);
}

static gr_val newton_schulz(const gr_optim_update *u, gr_val x, bool is_wide) {
  gr_builder *b = u->b;
  for (int i = 0; i < 5; i++) {
    gr_val s = product(u, x, x, !is_wide, is_wide);
    gr_val p =
        gr_add(b, gr_scale(b, s, -4.775), gr_scale(b, product(u, s, s, false, false), 2.0315));
    gr_val px = is_wide ? product(u, p, x, false, false) : product(u, x, p, false, false);
    x = gr_add(b, gr_scale(b, x, 3.4445), px);
  }
  return x;
}

enum { M, V };
enum { WEIGHT_DECAY = 7 };  // of attrs

static void emit_matrix(gr_optim_update *u) {
  gr_builder *b = u->b;
  gr_type t = gr_at(b->g, u->w)->type;
  muon a = *(const muon *)u->attr;
  int64_t rows = t.dim[0], columns = gr_type_count(&t) / rows;
  bool is_wide = columns > rows, adjusted = gr_is(u->param[WEIGHT_DECAY]);
  double longer = (double)(is_wide ? columns : rows);
  a.factor =
      a.match_rms > 0 ? a.match_rms * sqrt(longer) : sqrt(fmax(1, (double)rows / (double)columns));
  gr_val d = GR_EMIT(b, &gr_op_muon_momentum, &a, u->g, u->state[M], u->scale, u->ok);
  gr_val squares = gr_sum_squares(b, d), x = d;
  if (b->err) return;
  u->next_state[M] = (gr_val){d.id + 1};
  if (t.rank > 2) x = gr_reshape(b, x, (gr_ints){2, {rows, columns}});
  x = GR_EMIT(b, &gr_op_muon_unit, (&(muon_unit){a.split, is_wide}), x, squares);
  x = newton_schulz(u, x, is_wide);
  gr_ints shape = {.n = t.rank};
  memcpy(shape.items, t.dim, sizeof *t.dim * (size_t)t.rank);
  if (t.rank > 2) x = gr_reshape(b, x, shape);
  gr_val in[] = {u->w, x, u->lr, u->ok, u->param[WEIGHT_DECAY], GR_NONE};
  if (adjusted) in[5] = gr_fill(b, &(gr_type){.dtype = GR_F64}, a.factor);
  u->next_w = gr_emit(b, u->op, &a, adjusted ? 6 : 4, in);
}

static void emit_vector(gr_optim_update *u) {
  const muon *a = u->attr;
  const gr_adam adam = {a->beta1, a->beta2, a->eps, a->weight_decay};
  gr_type f64 = {.dtype = GR_F64};
  gr_val lr = a->adamw_lr_factor == 1 ? u->lr : gr_scale(u->b, u->lr, a->adamw_lr_factor);
  gr_val in[12] = {u->w, u->g, u->state[M], u->state[V], lr, u->step, u->scale, u->ok};
  bool adjusted = gr_is(u->param[WEIGHT_DECAY]);
  if (adjusted) {
    in[8] = gr_fill(u->b, &f64, a->beta1), in[9] = gr_fill(u->b, &f64, a->beta2);
    in[10] = gr_fill(u->b, &f64, a->eps), in[11] = u->param[WEIGHT_DECAY];
  }
  gr_val out = gr_emit(u->b, &gr_op_adamw, &adam, adjusted ? 12 : 8, in);
  if (!gr_is(out)) return;
  u->next_w = out;
  u->next_state[M] = (gr_val){out.id + 1}, u->next_state[V] = (gr_val){out.id + 2};
}

static void emit(gr_optim_update *u) {
  (gr_at(u->b->g, u->w)->type.rank < 2 ? emit_vector : emit_matrix)(u);
}

static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"},
               {"v", "running mean of squared gradients", .of = GR_OPTIM_VECTORS}},
    .emit = emit,
};
static const muon usual = {.weight_decay = 0.1, .factor = 1.5};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]"}, .attr = &usual, .fill = "nns1"},
    {{"f32[6,2,37]", "f32[6,2,37]", "f32[]", "f32[]"}, .attr = &usual, .fill = "nnsz"},
    {{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f64[]", "f64[]"},
     .attr = &usual,
     .fill = "nns1ss"},
    {{0}}};

const gr_op gr_op_muon = {
    GR_FORMULA_FIELDS(muon),
    .doc =
        "w' from w, the orthogonalised momentum x, lr, ok: Muon's step. weight_decay and factor "
        "may be operands, too: f64[].",
    .attr_size = sizeof(muon),
    .attrs = attrs,
    GR_OPTIMIZER_FIELDS,
    .optimizer = &optimizer,
    .cases = cases,
};
