// optimize.c - the optimizer, as ops: the next value of each weight and of the optimizer's
// states. ZeRO is only another layout of those states; the shard pass derives the rest.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/optim/optim.h"

static gr_status find_optimizer(gr_rewrite *rw, const gr_value *w, gr_optim_update *u,
                                gr_update_rule *rule) {
  *rule = gr_update_rule_of(&rw->opt->optimizer, w->name, w->type.rank);
  u->op = rule->op, u->attr = rule->attr;
  if (!u->op)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no optimizer '%s'",
                   rw->opt->optimizer.name ? rw->opt->optimizer.name : "");
  if (u->attr) return GR_OK;
  void *defaults = gr_arena_alloc(rw->b.g->arena, u->op->attr_size);
  gr_attr_defaults(u->op, defaults);
  u->attr = defaults;
  return GR_OK;
}

// The input or state of that name, created if it does not exist.
static gr_val scalar(gr_rewrite *rw, gr_role role, const char *name, gr_dtype dtype) {
  gr_val known = gr_graph_leaf(rw->b.g, role, name);
  if (gr_is(known) || rw->b.err) return known;
  return gr_leaf(&rw->b, role, GR_KIND_COUNTER, name, (gr_type){.dtype = dtype},
                 gr_layout_replicated);
}

// The first result of the node that makes a result of the graph; GR_NONE: there is no such result.
static gr_val first_beside(const gr_graph *g, const char *name) {
  gr_val v = gr_graph_result(g, name);
  return gr_is(v) ? g->nodes[gr_at(g, v)->node].out : GR_NONE;
}

// The factor for gradients that are clipped together.
static gr_val scale_of(const gr_rewrite *rw, int clip_group) {
  const gr_graph *g = rw->b.g;
  gr_val clipped = first_beside(g, gr_clip_result(g->arena, &rw->opt->optimizer, clip_group));
  return gr_is(clipped) ? clipped : first_beside(g, "ok");
}

static gr_val state(gr_rewrite *rw, const gr_optim_update *u, const gr_value *w, int k) {
  if (!gr_optim_has_state(u->op, u->attr, k, &w->type)) return GR_NONE;
  const char *letter = u->op->optimizer->states[k].name;
  const char *name = gr_arena_printf(rw->b.g->arena, "%s.%s", w->name, letter);
  gr_layout l = gr_update_layout(&rw->old->mesh, w, rw->opt);
  return gr_leaf(&rw->b, GR_STATE, GR_KIND_MOMENT, name, gr_optim_state_type(u->op, k, &w->type),
                 gr_optim_state_layout(u->op, k, &w->type, l));
}

static int param_group_of(const gr_rewrite *rw, const gr_value *w) {
  return gr_param_group_of(&rw->opt->optimizer, w->name);
}

static gr_val adjusted(gr_rewrite *rw, const char *key, int group, gr_dtype dtype) {
  const char *name = gr_adjust_input_name(rw->b.g->arena, &rw->opt->optimizer, key, group);
  return scalar(rw, GR_INPUT, name, dtype);
}

static int64_t truth_of(const gr_optim_update *u, const gr_attr *p) {
  return *(const int64_t *)(const void *)((const char *)u->attr + p->offset);
}

// Hyper-parameters as operands; those that are true or false stay. A weight that does not decay,
// because it has at most one dimension, does not either when others do.
static void set_params(gr_rewrite *rw, gr_optim_update *u, const gr_value *w) {
  int group = param_group_of(rw, w);
  const void *usual = group < 0 ? rw->opt->optimizer.attr : rw->opt->optimizer.groups[group].attr;
  gr_type t = {.dtype = GR_F64};
  for (int k = 0; k < GR_MAX_OPTIM_PARAMS; k++) u->param[k] = GR_NONE;
  for (int k = 0; rw->opt->optimizer.adjustable && u->op->attrs[k].name; k++) {
    if (!gr_optim_is_operand(u->op, k)) continue;
    const gr_attr *p = &u->op->attrs[k];
    bool none = u->attr != usual && usual && !strcmp(p->name, "weight_decay");
    if (none || p->kind == GR_ATTR_BOOL)
      u->param[k] = gr_fill(&rw->b, &t, none ? 0 : (double)truth_of(u, p));
    else
      u->param[k] = adjusted(rw, p->name, group, GR_F64);
  }
}

static gr_val rate_of(gr_rewrite *rw, const gr_value *w, gr_val lr, double factor) {
  int group = param_group_of(rw, w);
  if (rw->opt->optimizer.adjustable && group >= 0)
    return gr_mul(&rw->b, lr, adjusted(rw, "lr_factor", group, GR_F32));
  return factor == 1 ? lr : gr_scale(&rw->b, lr, factor);
}

// The name of the counter of updates: of a pattern of weights that are frozen at times its own, so
// that the bias correction of Adam begins with their first update; -1: that of all others.
static const char *counter_name(gr_rewrite *rw, int freezable) {
  const char *all = rw->opt->program.step ? rw->opt->program.step : "step";
  if (freezable < 0) return all;
  return gr_arena_printf(rw->b.g->arena, "%s(%s)", all,
                         rw->opt->optimizer.freezable.text[freezable]);
}

static void count_update(gr_rewrite *rw, gr_val counter, gr_val ok) {
  gr_val next = GR_EMIT(&rw->b, &gr_op_increment, NULL, counter, ok);
  if (!rw->b.err) gr_at(rw->b.g, counter)->next = next;
}

// Limits the elements of the gradient, which has no scale then.
static void clip_values(gr_rewrite *rw, gr_optim_update *u) {
  const double limit = rw->opt->optimizer.grad_clip_value;
  if (!(limit > 0)) return;
  u->g = GR_EMIT(&rw->b, &gr_op_clip_values, &limit, u->g, u->scale);
  u->scale = gr_fill(&rw->b, &(gr_type){.dtype = GR_F32}, 1);
}

static gr_status update(gr_rewrite *rw, gr_optim_update *u, gr_val lr, uint32_t w) {
  const gr_value *v = &rw->old->values[w];
  gr_update_rule rule;
  GR_TRY(find_optimizer(rw, v, u, &rule));
  int n = gr_optim_count_states(u->op);
  rw->b.loc = v->loc, rw->b.scope = v->name;
  u->lr = rate_of(rw, v, lr, rule.lr);
  set_params(rw, u, v);
  u->scale = scale_of(rw, rule.clip_group);
  u->w = rw->map[w], u->g = rw->map[v->grad.id];
  u->step =
      scalar(rw, GR_STATE, counter_name(rw, gr_freezable_of(&rw->opt->optimizer, v->name)), GR_I32);
  for (int k = 0; k < n; k++) u->state[k] = state(rw, u, v, k);
  clip_values(rw, u);
  gr_optim_emit(u);
  if (rw->b.err) return GR_OK;
  gr_at(rw->b.g, u->w)->next = u->next_w;
  for (int k = 0; k < n; k++)
    if (gr_is(u->state[k])) gr_at(rw->b.g, u->state[k])->next = u->next_state[k];
  return GR_OK;
}

// Links the next loss scale; its value is a result of the step.
static void update_loss_scale(gr_rewrite *rw, gr_val ok) {
  gr_builder *b = &rw->b;
  gr_val scale = gr_graph_leaf(b->g, GR_STATE, GR_LOSS_SCALE);
  if (!gr_is(scale) || b->err) return;
  gr_val steps = scalar(rw, GR_STATE, GR_LOSS_SCALE_STEPS, GR_I32);
  gr_val next = GR_EMIT(b, &gr_op_loss_scale, rw->opt->precision.loss_scale, scale, steps, ok);
  if (b->err) return;
  gr_at(b->g, scale)->next = next;
  gr_at(b->g, steps)->next = (gr_val){next.id + 1};
  gr_result(b, GR_LOSS_SCALE, next);
}

// Each weight adds an update, and most optimizers two states and their next values; and a gradient
// that is clipped by values.
static void reserve(gr_rewrite *rw) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) n += gr_is(rw->old->values[i].grad);
  gr_reserve(rw, 6 * n, 2 * n);
}

gr_status gr_pass_optimize(gr_rewrite *rw) {
  gr_optim_update u = {.b = &rw->b, .products = rw->opt->precision.dtype};
  reserve(rw);
  gr_copy_leaves(rw);
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  gr_val lr = scalar(rw, GR_INPUT, "lr", GR_F32);
  u.ok = gr_graph_result(rw->b.g, "ok");
  gr_val step = scalar(rw, GR_STATE, counter_name(rw, -1), GR_I32);
  for (uint32_t i = 1; i < rw->old->leaves_end && !rw->b.err; i++) {
    const gr_value *v = &rw->old->values[i];
    if (v->role == GR_STATE && gr_is(v->grad)) GR_TRY(update(rw, &u, lr, i));
  }
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  count_update(rw, step, u.ok);
  for (int i = 0; i < rw->opt->optimizer.freezable.n; i++) {
    gr_val counter = gr_graph_leaf(rw->b.g, GR_STATE, counter_name(rw, i));
    if (gr_is(counter)) count_update(rw, counter, u.ok);
  }
  update_loss_scale(rw, u.ok);
  return GR_OK;
}
