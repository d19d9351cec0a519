// schedule.c - one total order of the nodes, the same on all ranks.
//
// A collective is placed right after its operand is ready, so that other ranks wait for it as
// little as possible. Nodes without inputs (constants, initial values) are placed at their first
// use, so that they occupy memory for as short as possible.
//
// On GPUs nodes of one op that may be launched together (gr_op.multi_tensor) follow each other:
//
//   casts of states          first, if the backward pass reads them all, so that memory grows
//   little updates                  with those behind them whose operands are there or are made of
//   states
//                            alone, but no more of them than a gather of their results can wait for
//   small updates that no    last: kept gradients are few bytes, and a launch would take longer
//   node waits for           than what it computes
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/units.h"

enum { SMALL = 256 << 10, MAX_UPDATES = 8 << 20 };  // bytes of results
enum { AHEAD = 512 };                               // nodes that are looked at for a launch

typedef struct scheduler {
  gr_rewrite *rw;
  bool *done;            // by node
  uint32_t *collective;  // by node: the first collective from it on, or the number of nodes
  bool *update;          // by node, on GPUs: of a state, and may be launched with others
  uint32_t *readers;     // by value: how often nodes read it
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
  for (uint32_t j = i; (j = o->collective[j + 1]) < g->n_nodes && j < i + 64;) {
    const gr_node *n = &g->nodes[j];
    bool reads = false;
    if (o->done[j]) continue;
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(g, n->in[k]);
      bool weight = gr_is(gr_units_state(g, n->in[k]));
      reads |= v->role == GR_TEMP && v->node == i && !weight;
    }
    if (reads && ready(o, n)) emit(o, j);
  }
}

static void find_collectives(scheduler *o) {
  const gr_graph *g = o->rw->old;
  o->collective[g->n_nodes] = g->n_nodes;
  for (uint32_t i = g->n_nodes; i--;)
    o->collective[i] = g->nodes[i].op->collective ? i : o->collective[i + 1];
}

// ---- Launched together --------------------------------------------------------------------------

static bool reads(const gr_node *n, uint32_t v) {
  bool found = false;
  for (int k = 0; k < n->n_in; k++) found |= n->in[k].id == v;
  return found;
}

static void count_readers(scheduler *o) {
  const gr_graph *g = o->rw->old;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) o->readers[g->nodes[i].in[k].id]++;
}

static void find_updates(scheduler *o) {
  const gr_graph *g = o->rw->old;
  for (uint32_t i = 1; i < g->n_values && o->rw->opt->gpu; i++) {
    gr_val next = g->values[i].next;
    if (!gr_is(next) || gr_at(g, next)->role != GR_TEMP) continue;
    uint32_t maker = gr_at(g, next)->node;
    o->update[maker] |= reads(&g->nodes[maker], i);
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    o->update[i] |= o->rw->opt->gpu && n->op->optimizer;
    o->update[i] &= n->op->multi_tensor;
  }
}

static bool reads_leaves(const gr_graph *g, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++)
    if (gr_at(g, n->in[k])->role == GR_TEMP) return false;
  return true;
}

static size_t bytes_of(const gr_graph *g, const gr_node *n) {
  return gr_type_bytes(&gr_at(g, n->out)->type);
}

static bool casts_state(const gr_graph *g, const gr_node *n) {
  return n->op == &gr_op_cast && gr_at(g, n->in[0])->role == GR_STATE;
}

// Where values are computed again to save memory, casts are too. And where most are read once, by
// the forward pass alone, as in evaluation or of frozen layers, each is needed for a short time.
static void emit_casts(scheduler *o) {
  const gr_graph *g = o->rw->old;
  size_t once = 0, again = 0;
  if (!o->rw->opt->gpu || o->rw->opt->memory.recomputed) return;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (casts_state(g, &g->nodes[i]))
      *(o->readers[g->nodes[i].out.id] > 1 ? &again : &once) += bytes_of(g, &g->nodes[i]);
  for (uint32_t i = 0; i < g->n_nodes && once < again; i++)
    if (casts_state(g, &g->nodes[i])) emit(o, i);
}

static bool waits_until_end(const scheduler *o, uint32_t i) {
  const gr_node *n = &o->rw->old->nodes[i];
  bool read = false;
  for (int k = 0; k < n->n_out; k++) read |= o->readers[gr_out(n, k).id] > 0;
  return o->update[i] && !read && bytes_of(o->rw->old, n) <= SMALL;
}

// Whether an update's operands are there, or are made of leaves alone.
static bool is_near(const scheduler *o, const gr_node *n) {
  const gr_graph *g = o->rw->old;
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(g, n->in[k]);
    if (v->role != GR_TEMP || o->done[v->node]) continue;
    const gr_node *maker = &g->nodes[v->node];
    if (maker->op->collective || !reads_leaves(g, maker)) return false;
  }
  return true;
}

// Emits an update and those behind it that can be launched with it, after what makes their
// operands.
static void emit_updates(scheduler *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  size_t bytes = 0;
  uint32_t list[AHEAD], n = 0;
  for (uint32_t j = i; j < g->n_nodes && j < i + AHEAD && bytes < MAX_UPDATES; j++) {
    const gr_node *node = &g->nodes[j];
    bool alike = o->update[j] && node->op == g->nodes[i].op && !waits_until_end(o, j);
    if (o->done[j] || !alike || (j > i && !is_near(o, node))) continue;
    list[n++] = j, bytes += bytes_of(g, node);
    for (int k = 0; k < node->n_in; k++)
      if (gr_at(g, node->in[k])->role == GR_TEMP) emit(o, gr_at(g, node->in[k])->node);
  }
  for (uint32_t j = 0; j < n; j++) emit(o, list[j]);
  for (uint32_t j = 0; j < n; j++) emit_ready_collectives(o, list[j]);
}

gr_status gr_pass_schedule(gr_rewrite *rw) {
  scheduler o = {.rw = rw,
                 .done = GR_NEW(rw->b.g->tables, bool, rw->old->n_nodes + 1),
                 .collective = GR_NEW(rw->b.g->tables, uint32_t, rw->old->n_nodes + 1),
                 .update = GR_NEW(rw->b.g->tables, bool, rw->old->n_nodes + 1),
                 .readers = GR_NEW(rw->b.g->tables, uint32_t, rw->old->n_values)};
  rw->b.distinct = true;
  gr_copy_leaves(rw);
  find_collectives(&o);
  count_readers(&o);
  find_updates(&o);
  emit_casts(&o);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) {
    if (!rw->old->nodes[i].n_in) continue;  // where it is first read
    if (waits_until_end(&o, i)) continue;
    if (o.update[i] && !o.done[i])
      emit_updates(&o, i);
    else
      emit(&o, i);
    emit_ready_collectives(&o, i);
  }
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) emit(&o, i);
  gr_copy_links(rw);
  return GR_OK;
}
