// prepack_weights.c - packs the right operand of a matmul in a loop once, before the loop, into the
// panels that matmuls with few rows read fastest (ops/nn/pack.c).
//
// It runs after sharding: a packed matrix cannot be sharded.
#include "compiler/pass.h"
#include "compiler/passes/localize.h"
#include "compiler/passes/passes.h"

// Node n of the body multiplies by a constant of the loop, and may do so packed.
static bool packs(const gr_scan *s, const gr_node *n) {
  gr_op_call call;
  gr_op_call_of(s->body, n, &call);
  if (!gr_matmul_packs(&call)) return false;
  uint32_t y = n->in[1].id;
  return y <= gr_graph_leaves(s->body) && !gr_scan_is_seq(s, y) && !gr_scan_is_carry(s, y);
}

static bool any_packs(const gr_scan *s) {
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    if (packs(s, &s->body->nodes[i])) return true;
  return false;
}

// Two loops that multiply by one matrix have one copy of it.
static gr_val pack(gr_builder *b, const gr_op_call *call, gr_val matrix) {
  b->distinct = false;
  gr_val y = gr_pack(b, call, matrix);
  b->distinct = true;
  return y;
}

static void multiply(gr_loop *l, const gr_scan *s, const gr_node *n, const gr_val *operands,
                     gr_val *map) {
  gr_op_call call;
  gr_op_call_of(s->body, n, &call);
  gr_val y = pack(l->outside, &call, operands[gr_scan_operand(s, n->in[1].id)]);
  gr_val x = map[n->in[0].id], columns = gr_loop_const(l, y);
  gr_builder saved = l->b;
  l->b.loc = n->loc, l->b.scope = n->scope;
  gr_val z = gr_matmul_packed(&l->b, x, columns, call.out[0].dim[1]);
  if (gr_is(z)) gr_at(l->b.g, z)->layout = gr_at(s->body, n->out)->layout;
  z = gr_cast_local(&l->b, z, call.out[0].dtype);  // a packed product is f32
  l->b.loc = saved.loc, l->b.scope = saved.scope;
  map[n->out.id] = z;
}

static void write_nodes(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  for (uint32_t i = 0; i < s->body->n_nodes; i++) {
    const gr_node *n = &s->body->nodes[i];
    if (packs(s, n))
      multiply(l, s, n, operands, map);
    else
      gr_emit_placed(&l->b, s->body, n, map);
  }
}

gr_status gr_pass_prepack_weights(gr_rewrite *rw) {
  bool *again = GR_NEW(rw->b.g->tables, bool, rw->old->n_nodes + 1), any = false;
  for (uint32_t i = 0; i < rw->old->n_nodes; i++) {
    const gr_node *n = &rw->old->nodes[i];
    any |= again[i] = n->op == &gr_op_scan && any_packs(n->attr);
  }
  if (!any) return gr_keep(rw);
  gr_copy_leaves(rw);
  rw->b.distinct = true;  // loops that differ multiply by other matrices or otherwise, as before
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &rw->old->nodes[i];
    if (again[i])
      gr_rewrite_loop(rw, n, write_nodes);
    else
      gr_copy_node(rw, n);
  }
  gr_copy_links(rw);
  return GR_OK;
}
