// autodiff.c - reverse-mode differentiation: copies the forward graph, then applies gradient rules
// from last to first (ir/reverse.c).
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

// The values that need a gradient: those that depend on a trained weight, and not by integers
// alone.
static bool *wanted(const gr_graph *g, const gr_options *o) {
  bool *want = GR_NEW(g->tables, bool, g->n_values);
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    want[i] = gr_is_trained(o, &g->values[i]);
  }
  gr_mark_differentiable(g, want);
  return want;
}

// Copies the forward graph; ops save residuals for their gradients.
static void copy_forward(gr_rewrite *rw) {
  const bool *want = wanted(rw->old, rw->opt);
  gr_reserve(rw, rw->old->n_values, 2 * rw->old->n_nodes);  // for the backward pass
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    gr_emit_with_residuals(&rw->b, rw->old, &rw->old->nodes[i], rw->map, want);
  gr_copy_links(rw);
}

// The gradient of the loss with respect to itself: 1, or the loss scale, by which all gradients are
// then too large.
static gr_val seed(gr_rewrite *rw, const gr_type *loss) {
  if (!rw->opt->precision.loss_scale) return gr_fill(&rw->b, loss, 1);
  gr_val scale = gr_leaf(&rw->b, GR_STATE, GR_KIND_COUNTER, GR_LOSS_SCALE,
                         (gr_type){.dtype = GR_F32}, gr_layout_replicated);
  return rw->b.err ? GR_NONE : gr_cast(&rw->b, scale, loss->dtype);
}

gr_status gr_pass_autodiff(gr_rewrite *rw) {
  copy_forward(rw);
  if (rw->b.err) return GR_OK;
  const gr_graph forward = *rw->b.g;  // as it is now: the backward part goes behind it
  gr_val *here = GR_NEW(forward.tables, gr_val, forward.n_values);
  gr_val *grads = GR_NEW(forward.tables, gr_val, forward.n_values);
  const bool *want = wanted(&forward, rw->opt);
  for (uint32_t i = 1; i < forward.n_values; i++) here[i] = (gr_val){i};

  rw->b.loc = GR_NOWHERE, rw->b.scope = "loss";
  grads[forward.loss.id] = seed(rw, &forward.values[forward.loss.id].type);
  GR_TRY(gr_backward(&rw->b, &gr_op_add, &forward, here, want, grads));
  for (uint32_t i = 1; i < forward.leaves_end; i++)
    if (forward.values[i].role == GR_STATE && want[i]) rw->b.g->values[i].grad = grads[i];
  return GR_OK;
}
