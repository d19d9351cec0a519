// ema.c - exponential moving averages of trained weights: a state for each, "WEIGHT.ema", which
// the programs that train let follow the weight, and which evaluation reads in its place. It is
// split as the optimizer's states are.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

static gr_val average_of(gr_rewrite *rw, uint32_t weight) {
  const gr_value *w = &rw->old->values[weight];
  const char *name = gr_arena_printf(rw->b.g->arena, "%s.ema", w->name);
  gr_val known = gr_graph_leaf(rw->b.g, GR_STATE, name);
  if (gr_is(known)) return known;
  rw->b.loc = w->loc, rw->b.scope = w->name;
  return gr_leaf(&rw->b, GR_STATE, GR_KIND_EMA, name, w->type,
                 gr_update_layout(&rw->old->mesh, w, rw->opt));
}

// Hooks may set it (adjust.h); otherwise it is a constant.
static gr_val decay_of(gr_rewrite *rw) {
  gr_type t = {.dtype = GR_F64};
  const char *name = gr_adjust_input_name(rw->b.g->arena, &rw->opt->optimizer, "ema_decay", -1);
  if (rw->opt->program.ema == GR_EMA_BEGIN) return gr_fill(&rw->b, &t, 0);
  if (!rw->opt->optimizer.adjustable)
    return gr_fill(&rw->b, &t, rw->opt->optimizer.ema_decay.value);
  gr_val known = gr_graph_leaf(rw->b.g, GR_INPUT, name);
  if (gr_is(known)) return known;
  return gr_leaf(&rw->b, GR_INPUT, GR_KIND_COUNTER, name, t, gr_layout_replicated);
}

// Whether a program that trains lets an average follow the weight: of weights that are frozen in
// it, and not in others, the averages come closer to these.
static bool is_followed(const gr_rewrite *rw, const gr_value *v, bool *frozen) {
  gr_options unfrozen = *rw->opt;
  unfrozen.program.frozen = 0;
  if (!gr_is_weight(v)) return false;
  *frozen = gr_is_frozen(rw->opt, v->name) && gr_is_trained(&unfrozen, v);
  return gr_is(v->grad) || *frozen;
}

static void follow(gr_rewrite *rw, uint32_t weight, gr_val w, gr_val ok) {
  gr_val e = average_of(rw, weight);
  gr_val next = GR_EMIT(&rw->b, &gr_op_ema, NULL, e, w, decay_of(rw), ok);
  if (!rw->b.err) gr_at(rw->b.g, e)->next = next;
}

// What a program that trains does after the update of each weight.
static void follow_updates(gr_rewrite *rw) {
  gr_val ok = gr_graph_result(rw->b.g, "ok");
  for (uint32_t i = 1; i < rw->old->leaves_end && !rw->b.err; i++) {
    const gr_value *v = &rw->old->values[i];
    bool frozen;
    if (is_followed(rw, v, &frozen)) follow(rw, i, frozen ? rw->map[i] : rw->map[v->next.id], ok);
  }
}

// What the nodes of a program that trains read as averages, in which op averaged is the identity
// until here.
static void read_averages(gr_rewrite *rw) {
  const gr_graph *g = rw->old;
  bool frozen;
  for (uint32_t i = 0; i < g->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op == &gr_op_averaged && is_followed(rw, gr_at(g, n->in[0]), &frozen))
      rw->map[n->out.id] = average_of(rw, n->in[0].id);
    else
      gr_copy_node(rw, n);
  }
}

static bool reads_averages(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_averaged) return true;
  return false;
}

// All averages become their weights.
static void begin(gr_rewrite *rw) {
  gr_type scalar = {.dtype = GR_F32};
  gr_val ok = gr_fill(&rw->b, &scalar, 1);
  for (uint32_t i = 1; i < rw->old->leaves_end && !rw->b.err; i++)
    if (gr_is_trained(rw->opt, &rw->old->values[i])) follow(rw, i, rw->map[i], ok);
}

gr_status gr_pass_ema(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (rw->opt->program.ema == GR_EMA_READ && gr_is_trained(rw->opt, v))
      rw->map[i] = average_of(rw, i);
    else if (v->role != GR_TEMP)
      gr_copy_leaf(rw, i, &v->type, v->layout);
  }
  if (rw->opt->program.ema == GR_EMA_UPDATE && reads_averages(rw->old))
    read_averages(rw);
  else
    gr_copy_nodes(rw);
  gr_copy_links(rw);
  rw->b.loc = GR_NOWHERE;
  if (rw->opt->program.ema == GR_EMA_UPDATE) follow_updates(rw);
  if (rw->opt->program.ema == GR_EMA_BEGIN) begin(rw);
  return GR_OK;
}
