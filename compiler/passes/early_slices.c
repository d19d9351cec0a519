// early_slices.c - slices before the elementwise nodes that make what they are of, as where a
// causal convolution adds its vector and is then cut to the length of its operand:
//
//   slice(x + v) = slice(x) + v
//
// What is left out is not computed, forwards and in the gradient, and the elementwise nodes can be
// fused with those behind the slice. The numbers are the same bits. Only where nothing else reads
// what is sliced, and nothing but one operand is of its sizes, so that there are no more slices.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/kernels/fused.h"

typedef struct slices {
  gr_rewrite *rw;
  uint32_t *reads;  // by value: how often it is read
  bool *kept;       // by value: it is a result, or a state's next value
} slices;

static void find_reads(slices *s) {
  const gr_graph *g = s->rw->old;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) s->reads[g->nodes[i].in[k].id]++;
  gr_mark_links(g, s->kept);
}

// The operand of an elementwise node that is of the result's sizes, if a slice along that axis may
// take it instead: the others are vectors of another axis. -1: none.
static int sliced_operand(const slices *s, gr_val v, int axis) {
  const gr_graph *g = s->rw->old;
  const gr_value *y = gr_at(g, v);
  if (y->role != GR_TEMP || s->reads[v.id] != 1 || s->kept[v.id]) return -1;
  const gr_node *n = &g->nodes[y->node];
  int found = -1;
  if (!n->op->tile || !gr_fused_takes(g, n)) return -1;
  for (int k = 0; k < n->n_in; k++) {
    bool like = gr_fused_is_like(&gr_at(g, n->in[k])->type, &y->type);
    if (like ? found >= 0 : axis == y->type.rank - 1) return -1;
    if (like) found = k;
  }
  return found;
}

// Emits the slice n of a value.
static gr_val emit_slice(slices *s, const gr_node *n, int axis, gr_val v) {
  gr_rewrite *rw = s->rw;
  int operand = sliced_operand(s, v, axis);
  if (operand < 0) {
    rw->b.loc = n->loc, rw->b.scope = n->scope;
    return gr_emit(&rw->b, n->op, n->attr, 1, &rw->map[v.id]);
  }
  const gr_node *of = &rw->old->nodes[gr_at(rw->old, v)->node];
  gr_val in[GR_FUSED_ARGS];
  for (int k = 0; k < of->n_in; k++)
    in[k] = k == operand ? emit_slice(s, n, axis, of->in[k]) : rw->map[of->in[k].id];
  rw->b.loc = of->loc, rw->b.scope = of->scope;
  return gr_emit(&rw->b, of->op, of->attr, of->n_in, in);
}

static bool has_slices(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_slice) return true;
  return false;
}

gr_status gr_pass_early_slices(gr_rewrite *rw) {
  const gr_graph *g = rw->old;
  if (!has_slices(g)) return gr_keep(rw);
  slices s = {.rw = rw,
              .reads = GR_NEW(rw->b.g->tables, uint32_t, g->n_values),
              .kept = GR_NEW(rw->b.g->tables, bool, g->n_values)};
  find_reads(&s);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < g->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &g->nodes[i];
    int axis = 0, rank = n->n_in ? gr_at(g, n->in[0])->type.rank : 0;
    while (n->op == &gr_op_slice && axis < rank && gr_slice_begin(n, axis) < 0) axis++;
    if (n->op == &gr_op_slice && axis < rank)
      rw->map[n->out.id] = emit_slice(&s, n, axis, n->in[0]);
    else
      gr_copy_node(rw, n);
  }
  gr_copy_links(rw);
  return GR_OK;
}
