// cancel.c - minus minus x is x.
#include "compiler/passes/passes.h"

// What n negates a second time, or none.
static gr_val negated_twice(const gr_graph *g, const gr_node *n) {
  if (n->op != &gr_op_neg || gr_at(g, n->in[0])->role != GR_TEMP) return GR_NONE;
  const gr_node *inner = &g->nodes[gr_at(g, n->in[0])->node];
  return inner->op == &gr_op_neg ? inner->in[0] : GR_NONE;
}

gr_status gr_pass_cancel(gr_rewrite *rw) {
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &rw->old->nodes[i];
    gr_val x = negated_twice(rw->old, n);
    if (gr_is(x))
      rw->map[n->out.id] = rw->map[x.id];
    else
      gr_copy_node(rw, n);
  }
  gr_copy_links(rw);
  return GR_OK;
}
