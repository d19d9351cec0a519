// finite_check.c - decides whether to take this step, and clips gradients. Both need one number,
// the sum of squares of all gradients: it is finite only if all gradients are, and its root is the
// global norm that is clipped. All ranks compute it from the same all-reduced values, so all ranks
// decide alike. The loss scale of f16, which all gradients contain, is divided out with the loss's
// denominator.
//
// Groups of weights may be clipped by norms of their own. Then one more finite_check for each
// scales its gradients; the step is still taken, or skipped, as a whole.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

static bool has_gradient(const gr_value *v) { return v->role == GR_STATE && gr_is(v->grad); }

// The mesh axes that the gradient of weight i will be sharded over, one bit each.
static unsigned split_axes(const gr_rewrite *rw, uint32_t i) {
  gr_layout l = gr_update_layout(&rw->old->mesh, &rw->old->values[i], rw->opt);
  unsigned axes = 0;
  for (int a = 0; a < rw->old->mesh.n_axes; a++) axes |= (unsigned)(l.placement[a] >= 0) << a;
  return axes;
}

// With virtual shards sums of squares are exact, because ranks may have slices of gradients.
static bool is_exact(const gr_rewrite *rw) { return gr_mesh_virtual(&rw->old->mesh) >= 0; }

static gr_val emit_square(gr_rewrite *rw, gr_val grad) {
  return is_exact(rw) ? gr_sum_squares_exact(&rw->b, grad) : gr_sum_squares(&rw->b, grad);
}

static gr_status check_exact(const gr_rewrite *rw) {
  int64_t n = 0;
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (!has_gradient(v)) continue;
    const gr_value *grad = gr_at(rw->old, v->grad);
    gr_type whole = gr_type_global(&grad->type, &grad->layout, &rw->old->mesh);
    n += gr_type_count(&whole);
  }
  if (n <= GR_EXACT_SQUARES) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                         "training.numerics=canonical adds up %d squares of gradients without "
                         "rounding, and the program trains %lld numbers",
                         GR_EXACT_SQUARES, (long long)n),
                 "training.numerics=native, or freeze a part of the model");
}

// Emits the sums of squares of all gradients, so that they follow each other, and GPUs launch them
// together. What asks for one later gets it (hash-consing).
static void emit_squares(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (has_gradient(v)) emit_square(rw, rw->map[v->grad.id]);
  }
}

static int clip_group_of(const gr_rewrite *rw, const gr_value *v) {
  return gr_update_rule_of(&rw->opt->optimizer, v->name, v->type.rank).clip_group;
}

// The sum over all gradients that are clipped and sharded like that of weight `like`: each rank
// adds up its slices, and one all_reduce of a scalar per mesh axis completes the sum.
static gr_val sum_alike(gr_rewrite *rw, uint32_t like, bool *done) {
  gr_val sum = GR_NONE;
  int group = clip_group_of(rw, &rw->old->values[like]);
  for (uint32_t i = like; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (!has_gradient(v) || done[i] || clip_group_of(rw, v) != group) continue;
    if (split_axes(rw, i) != split_axes(rw, like)) continue;
    done[i] = true;
    gr_accumulate_grad(&rw->b, &gr_op_add, &sum, emit_square(rw, rw->map[v->grad.id]));
  }
  return sum;
}

// The sum of squares of the gradients of a clip group; GR_NONE: it has none.
static gr_val sum_group(gr_rewrite *rw, int group, bool *done) {
  gr_val total = GR_NONE;
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (has_gradient(v) && !done[i] && clip_group_of(rw, v) == group)
      gr_accumulate_grad(&rw->b, &gr_op_add, &total, sum_alike(rw, i, done));
  }
  return total;
}

// What losses and gradients are divided by.
static gr_val divisor(gr_rewrite *rw) {
  gr_val norm = rw->b.g->loss_denominator;
  if (!gr_is(norm)) norm = gr_fill(&rw->b, &(gr_type){.dtype = GR_F32}, 1);
  gr_val scale = gr_graph_leaf(rw->b.g, GR_STATE, GR_LOSS_SCALE);
  return gr_is(scale) ? gr_mul(&rw->b, norm, scale) : norm;
}

// The clip norm of a group as an input, if it may be changed; else GR_NONE.
static gr_val clip_input(gr_rewrite *rw, int group) {
  if (!rw->opt->optimizer.adjustable) return GR_NONE;
  const char *name = gr_adjust_input_name(rw->b.g->arena, &rw->opt->optimizer, "clip", group);
  return gr_leaf(&rw->b, GR_INPUT, GR_KIND_COUNTER, name, (gr_type){.dtype = GR_F64},
                 gr_layout_replicated);
}

// Emits the check of all gradients, and one of each clip group if there are several. total[1 + k]
// is the sum of squares of group k.
static void emit_checks(gr_rewrite *rw, gr_val all, const gr_val *total, bool several) {
  gr_builder *b = &rw->b;
  gr_val norm = divisor(rw);
  gr_val set = several ? GR_NONE : clip_input(rw, -1);
  gr_val made =
      gr_finite_check(b, all, b->g->loss, norm, several ? 0 : rw->opt->optimizer.grad_clip, set);
  gr_result(b, "ok", (gr_val){made.id + 1});
  gr_result(b, "grad_norm", (gr_val){made.id + 2});
  for (int k = -1; several && k < rw->opt->optimizer.n_groups; k++) {
    if (!gr_is(total[1 + k])) continue;
    double clip = k < 0 ? rw->opt->optimizer.grad_clip : rw->opt->optimizer.groups[k].clip;
    made = gr_finite_check(b, total[1 + k], b->g->loss, norm, clip, clip_input(rw, k));
    gr_result(b, gr_clip_result(b->g->arena, &rw->opt->optimizer, k), (gr_val){made.id + 2});
  }
}

static void round_all(gr_rewrite *rw, gr_val *total, gr_val *all) {
  for (int k = 0; k <= rw->opt->optimizer.n_groups; k++)
    if (gr_is(total[k])) total[k] = gr_exact_sum(&rw->b, total[k]);
  if (gr_is(*all)) *all = gr_exact_sum(&rw->b, *all);
}

// Each gradient adds a square and a sum.
static void reserve(gr_rewrite *rw) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) n += has_gradient(&rw->old->values[i]);
  gr_reserve(rw, 2 * n, 2 * n);
}

gr_status gr_pass_finite_check(gr_rewrite *rw) {
  reserve(rw);
  gr_copy_leaves(rw);
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  bool *done = GR_NEW(rw->old->tables, bool, rw->old->n_values), several = false;
  gr_val *total = GR_NEW(rw->old->tables, gr_val, 1 + rw->opt->optimizer.n_groups), all = GR_NONE;
  if (is_exact(rw)) GR_TRY(check_exact(rw));
  rw->b.loc = GR_NOWHERE, rw->b.scope = "finite_check";
  emit_squares(rw);
  for (int k = -1; k < rw->opt->optimizer.n_groups; k++) {
    total[1 + k] = sum_group(rw, k, done);
    several |= k >= 0 && gr_is(total[1 + k]);
    if (gr_is(total[1 + k])) gr_accumulate_grad(&rw->b, &gr_op_add, &all, total[1 + k]);
  }
  if (is_exact(rw)) round_all(rw, total, &all);
  if (rw->b.err) return GR_OK;
  if (!gr_is(all))
    return gr_hint(gr_fail(GR_ERR_CONFIG, gr_loc_of(rw->old, rw->old->loss),
                           "the loss depends on no weight to train"),
                   "see `freeze`, and the loss that `train` names");
  emit_checks(rw, all, total, several);
  return GR_OK;
}
