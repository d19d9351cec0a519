// schedule.c - one total order of the nodes, the same on all ranks.
//
// A collective is placed right after its operand is ready, so that other ranks wait for it as
// little as possible. Nodes without inputs (constants, initial values) are placed at their first
// use, so that they occupy memory for as short as possible. In the backward pass the product that
// is the last to read a narrow copy of a weight comes before the one that makes the weight's
// gradient.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/units.h"

typedef struct scheduler {
  gr_rewrite *rw;
  bool *done;      // by node
  uint32_t *last;  // by value: the last node that reads it
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
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(g, n->in[k]);
      bool weight = gr_is(gr_units_state(g, n->in[k]));
      reads |= v->role == GR_TEMP && v->node == i && !weight;
    }
    if (n->op->collective && reads && !o->done[j] && ready(o, n)) emit(o, j);
  }
}

static void find_last(scheduler *o) {
  const gr_graph *g = o->rw->old;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) o->last[g->nodes[i].in[k].id] = i;
}

// Bytes of what weights were cast to that node i reads last; 0 if it reads a result of node i - 1.
static size_t copies_freed(const scheduler *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  size_t bytes = 0;
  for (int k = 0; k < g->nodes[i].n_in; k++) {
    gr_val v = g->nodes[i].in[k];
    if (gr_at(g, v)->role != GR_TEMP) continue;
    if (gr_at(g, v)->node == i - 1) return 0;
    if (o->last[v.id] == i && gr_is(gr_units_state(g, v)))
      bytes += gr_type_bytes(&gr_at(g, v)->type);
  }
  return bytes;
}

static size_t bytes_made(const scheduler *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  size_t bytes = 0;
  for (int k = 0; k < g->nodes[i].n_out; k++)
    bytes += gr_type_bytes(&gr_at(g, gr_out(&g->nodes[i], k))->type);
  return bytes;
}

gr_status gr_pass_schedule(gr_rewrite *rw) {
  scheduler o = {.rw = rw,
                 .done = GR_NEW(rw->b.g->arena, bool, rw->old->n_nodes + 1),
                 .last = GR_NEW(rw->b.g->arena, uint32_t, rw->old->n_values)};
  find_last(&o);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) {
    if (!rw->old->nodes[i].n_in) continue;  // where it is first read
    if (i + 1 < rw->old->n_nodes && copies_freed(&o, i + 1) > bytes_made(&o, i + 1) &&
        bytes_made(&o, i) > bytes_made(&o, i + 1))
      emit(&o, i + 1);
    emit(&o, i);
    emit_ready_collectives(&o, i);
  }
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) emit(&o, i);
  gr_copy_links(rw);
  return GR_OK;
}
