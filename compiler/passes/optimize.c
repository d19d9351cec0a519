// optimize.c - the optimizer, as ops: the next value of each weight and of the optimizer's
// states. ZeRO is only another layout of those states; the shard pass derives the rest.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/optim/optim.h"

static gr_status find_optimizer(gr_rewrite *rw, gr_optim_update *u) {
  const gr_options *o = rw->opt;
  u->op = gr_optim_find(o->optimizer);
  u->attr = o->optimizer_attr;
  if (!u->op)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no optimizer '%s'",
                   o->optimizer ? o->optimizer : "");
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

static void find_finite_check(gr_optim_update *u) {
  const gr_graph *g = u->b->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_finite_check)
      u->scale = gr_out(&g->nodes[i], 0), u->ok = gr_out(&g->nodes[i], 1);
}

static gr_val state(gr_rewrite *rw, const gr_optim_update *u, const gr_value *w, int k) {
  if (!gr_optim_has_state(u->op, u->attr, k, &w->type)) return GR_NONE;
  const char *letter = u->op->optimizer->states[k].name;
  const char *name = gr_arena_printf(rw->b.g->arena, "%s.%s", w->name, letter);
  gr_layout l = gr_update_layout(&rw->old->mesh, w, rw->opt);
  return gr_leaf(&rw->b, GR_STATE, GR_KIND_MOMENT, name, gr_optim_state_type(u->op, k, &w->type),
                 gr_optim_state_layout(u->op, k, &w->type, l));
}

static void update(gr_rewrite *rw, gr_optim_update *u, uint32_t w) {
  const gr_value *v = &rw->old->values[w];
  int n = gr_optim_count_states(u->op);
  rw->b.loc = v->loc, rw->b.scope = v->name;
  u->w = rw->map[w], u->g = rw->map[v->grad.id];
  for (int k = 0; k < n; k++) u->state[k] = state(rw, u, v, k);
  gr_optim_emit(u);
  if (rw->b.err) return;
  gr_at(rw->b.g, u->w)->next = u->next_w;
  for (int k = 0; k < n; k++)
    if (gr_is(u->state[k])) gr_at(rw->b.g, u->state[k])->next = u->next_state[k];
}

// Links the next loss scale; its value is a result of the step.
static void update_loss_scale(gr_rewrite *rw, gr_val ok) {
  gr_builder *b = &rw->b;
  gr_val scale = gr_graph_leaf(b->g, GR_STATE, GR_LOSS_SCALE);
  if (!gr_is(scale) || b->err) return;
  gr_val steps = scalar(rw, GR_STATE, GR_LOSS_SCALE_STEPS, GR_I32);
  gr_val next = GR_EMIT(b, &gr_op_loss_scale, rw->opt->loss_scale, scale, steps, ok);
  if (b->err) return;
  gr_at(b->g, scale)->next = next;
  gr_at(b->g, steps)->next = (gr_val){next.id + 1};
  gr_result(b, GR_LOSS_SCALE, next);
}

gr_status gr_pass_optimize(gr_rewrite *rw) {
  gr_optim_update u = {.b = &rw->b};
  GR_TRY(find_optimizer(rw, &u));
  gr_copy_leaves(rw);
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  find_finite_check(&u);
  u.lr = scalar(rw, GR_INPUT, "lr", GR_F32);
  u.step = scalar(rw, GR_STATE, "step", GR_I32);
  for (uint32_t i = 1; i < rw->old->n_values && !rw->b.err; i++) {
    const gr_value *v = &rw->old->values[i];
    if (v->role == GR_STATE && gr_is(v->grad)) update(rw, &u, i);
  }
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  gr_val next = GR_EMIT(&rw->b, &gr_op_increment, NULL, u.step, u.ok);
  if (!rw->b.err) gr_at(rw->b.g, u.step)->next = next;
  update_loss_scale(rw, u.ok);
  return GR_OK;
}
