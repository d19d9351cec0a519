// reuse.c - which memory may be written again: when a value is read last, and which operand a
// result may replace. See memory.h.
#include "compiler/plan/memory.h"

uint32_t *gr_memory_last_use(gr_arena *arena, const gr_graph *g) {
  uint32_t *last = GR_NEW(arena, uint32_t, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++)
    last[i] = g->values[i].role == GR_TEMP ? g->values[i].node : 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) last[g->nodes[i].in[k].id] = i;
  for (uint32_t i = 1; i < g->leaves_end; i++) last[g->values[i].next.id] = g->n_nodes;
  for (uint32_t i = 0; i < g->n_results; i++) last[g->results[i].id] = g->n_nodes;
  last[g->loss.id] = last[g->loss_denominator.id] = g->n_nodes;
  return last;
}

bool gr_memory_may_reuse(const gr_graph *g, const gr_node *n, int k, int j) {
  int uses = 0;
  if (gr_op_inplace(n->op, k) != j) return false;
  for (int i = 0; i < n->n_in; i++) uses += n->in[i].id == n->in[j].id;
  const gr_type *result = &gr_at(g, gr_out(n, k))->type, *operand = &gr_at(g, n->in[j])->type;
  // Operands of fused nodes may be read more often than once: vectors, which are added to each row.
  bool fits = n->op->inplace_each ? gr_type_same(result, operand)
                                  : gr_type_bytes(result) == gr_type_bytes(operand);
  return uses == 1 && fits;
}

bool gr_memory_may_become(const gr_graph *g, const uint32_t *last, uint32_t state) {
  gr_val next = g->values[state].next;
  const gr_value *v = gr_at(g, next);
  if (!gr_is(next) || v->role != GR_TEMP) return false;
  const gr_node *maker = &g->nodes[v->node];
  bool reads = false;
  for (int j = 0; j < maker->n_in; j++) {
    if (maker->in[j].id != state) continue;
    reads = true;
    if (!gr_memory_may_reuse(g, maker, (int)(next.id - maker->out.id), j)) return false;
  }
  return reads ? last[state] == v->node : last[state] <= v->node;
}
