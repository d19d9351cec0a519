// lint.c - reports unused parts of the model. PyTorch's find_unused_parameters searches unused
// parameters in every step; in a static graph they are known before the first.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/ops.h"

static void note_unused(gr_rewrite *rw, const bool *needed, gr_notes *notes) {
  const gr_graph *g = rw->old;
  notes->unused = GR_NEW(g->arena, const char *, g->n_values);
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    bool meant =
        !rw->opt->program.n_trained ||
        (v->name && gr_name_matches(v->name, rw->opt->program.trained, rw->opt->program.n_trained));
    if (gr_is_weight(v) && !needed[i] && meant) notes->unused[notes->n_unused++] = v->name;
  }
}

static void note_dead(gr_rewrite *rw, gr_notes *notes) {
  const gr_graph *g = rw->old;
  const bool *live = gr_graph_live(g);
  notes->dead = GR_NEW(g->arena, const gr_node *, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (!gr_any_out(&g->nodes[i], live)) notes->dead[notes->n_dead++] = &g->nodes[i];
}

// What a gradient of the loss can flow to: not what gives it indices alone, for example.
static bool *needed_by_loss(const gr_graph *g) {
  bool *need = GR_NEW(g->arena, bool, g->n_values);
  need[g->loss.id] = true;
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; gr_any_out(n, need) && k < n->n_in; k++)
      need[n->in[k].id] |= gr_is_differentiable(gr_at(g, n->in[k]));
  }
  return need;
}

// Averages that the model reads (`weights: averaged`) are kept.
static gr_status check_averages(const gr_rewrite *rw) {
  for (uint32_t i = 0; i < rw->old->n_nodes; i++) {
    const gr_node *n = &rw->old->nodes[i];
    if (n->op == &gr_op_averaged && !rw->opt->optimizer.ema_decay.given)
      return gr_hint(gr_fail(GR_ERR_CONFIG, n->loc,
                             "the average of '%s' is read here, and the run keeps no averages",
                             gr_at(rw->old, n->in[0])->name),
                     "training.ema_decay=0.99, say: docs/running.md");
  }
  return GR_OK;
}

gr_status gr_pass_lint(gr_rewrite *rw) {
  const gr_graph *g = rw->old;
  if (!gr_is(g->loss))
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the graph has no loss to minimise"),
                   "name one: `train: loss`");
  if (gr_at(g, g->loss)->type.rank || !gr_dtypes[gr_at(g, g->loss)->type.dtype].is_float)
    return gr_fail(GR_ERR_TYPE, GR_NOWHERE, "the loss must be one float");
  GR_TRY(check_averages(rw));
  if (rw->opt->notes) {
    note_unused(rw, needed_by_loss(g), rw->opt->notes);
    note_dead(rw, rw->opt->notes);
  }
  gr_copy_leaves(rw);
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  return GR_OK;
}
