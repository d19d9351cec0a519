// schedule.c - one total order of the nodes, the same on all ranks.
//
// A collective is placed right after its operand is ready, so that other ranks wait for it as
// little as possible. Nodes without inputs (constants, initial values) are placed at their first
// use, so that they occupy memory for as short as possible.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/units.h"

typedef struct scheduler {
  gr_rewrite *rw;
  bool *done;  // by node
} scheduler;

static void emit(scheduler *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  const gr_node *n = &g->nodes[i];
  if (o->done[i]) return;
  o->done[i] = true;
  for (int k = 0; k < n->n_in; k++)
    if (gr_at(g, n->in[k])->role == GR_TEMP) emit(o, gr_at(g, n->in[k])->node);
  gr_copy_node(o->rw, n);
}

static bool ready(const scheduler *o, const gr_node *n) {
  const gr_graph *g = o->rw->old;
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(g, n->in[k]);
    if (v->role == GR_TEMP && !o->done[v->node]) return false;
  }
  return true;
}

// Emits collectives that read a result of node i and whose other operands are ready. Those that
// read only states, or what these are cast to (gathers of sharded weights), stay where their
// results are first needed: earlier would occupy memory for longer.
static void emit_ready_collectives(scheduler *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  for (uint32_t j = i + 1; j < g->n_nodes && j < i + 64; j++) {
    const gr_node *n = &g->nodes[j];
    bool reads = false;
    if (!n->op->collective || o->done[j]) continue;
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(g, n->in[k]);
      bool weight = gr_is(gr_units_state(g, n->in[k]));
      reads |= v->role == GR_TEMP && v->node == i && !weight;
    }
    if (reads && ready(o, n)) emit(o, j);
  }
}

gr_status gr_pass_schedule(gr_rewrite *rw) {
  scheduler o = {.rw = rw, .done = GR_NEW(rw->b.g->arena, bool, rw->old->n_nodes + 1)};
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) {
    if (!rw->old->nodes[i].n_in) continue;  // where it is first read
    emit(&o, i);
    emit_ready_collectives(&o, i);
  }
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) emit(&o, i);
  gr_copy_links(rw);
  return GR_OK;
}
