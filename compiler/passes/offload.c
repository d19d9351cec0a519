// offload.c - copies of sharded weights that are in host memory (distributed.fsdp.offload_params).
//
// An optimizer's kernel reads and writes each element of a weight once, which it does over the
// link, where the weight is. All else reads copies in the device's memory, which a queue of its own
// fetches beside kernels: those of a gather are made from when the gather before it begins, so that
// they are there when it may. What a gather casts is cast from its copies, and kept no longer.
//
// Which weights are in host memory follows from these copies, when programs are linked.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

typedef struct offloader {
  gr_rewrite *rw;
  int axis;          // of the mesh, over which such weights are sharded
  gr_val **copies;   // by node: of its operands; NULL: they are not made yet
  bool *only_moved;  // by node: casts that gathers alone read
  int64_t fetches;   // so far
} offloader;

static bool is_away(const offloader *o, gr_val v) {
  const gr_value *w = gr_at(o->rw->old, v);
  return gr_is_weight(w) && w->layout.placement[o->axis] >= 0;
}

static bool is_gather(const gr_node *n) { return n->op == &gr_op_all_gather; }

// Whether a node makes the next value of a state in its place, by a formula.
static bool updates(const gr_graph *g, const gr_node *n, gr_val state) {
  uint32_t next = gr_at(g, state)->next.id;
  return n->op->formulas && next >= n->out.id && next < n->out.id + (uint32_t)n->n_out;
}

// The weight that operand k of a node is a copy of, or GR_NONE.
static gr_val fetched(const offloader *o, const gr_node *n, int k) {
  const gr_graph *g = o->rw->old;
  gr_val v = is_gather(n) ? gr_cast_from(g, n->in[k]) : n->in[k];
  return is_away(o, v) && !updates(g, n, v) ? v : GR_NONE;
}

static bool gathers_copies(const offloader *o, uint32_t i) {
  const gr_node *n = &o->rw->old->nodes[i];
  bool any = false;
  for (int k = 0; k < n->n_in && is_gather(n); k++) any |= gr_is(fetched(o, n, k));
  return any;
}

// ---- Copies -------------------------------------------------------------------------------------

static gr_val emit(offloader *o, int n, const gr_val *weights) {
  gr_val in[GR_MAX_FETCHED] = {GR_NONE}, out;
  for (int k = 0; k < n; k++) in[k] = o->rw->map[weights[k].id];
  out = gr_fetch(&o->rw->b, n, in, ++o->fetches);
  for (int k = 0; gr_is(out) && k < n; k++)
    gr_at(o->rw->b.g, (gr_val){out.id + (uint32_t)k})->layout =
        gr_at(o->rw->old, weights[k])->layout;
  return out;
}

// Emits the copies that node i reads, GR_MAX_FETCHED at a time.
static void fetch(offloader *o, uint32_t i) {
  const gr_node *n = &o->rw->old->nodes[i];
  gr_val of[GR_MAX_FETCHED];
  int place[GR_MAX_FETCHED], many = 0;
  if (o->copies[i]) return;
  o->copies[i] = GR_NEW(o->rw->old->tables, gr_val, n->n_in + 1);
  o->rw->b.loc = n->loc, o->rw->b.scope = n->scope;
  for (int k = 0; k < n->n_in; k++) {
    gr_val v = fetched(o, n, k);
    if (gr_is(v)) place[many] = k, of[many++] = v;
    if (!many || (many < GR_MAX_FETCHED && k + 1 < n->n_in)) continue;
    gr_val out = emit(o, many, of);
    for (; gr_is(out) && many; many--)
      o->copies[i][place[many - 1]] = (gr_val){out.id + (uint32_t)many - 1};
    many = 0;
  }
}

// What operand k is made of: the copy, cast as the operand was.
static gr_val operand(offloader *o, const gr_node *n, int k, gr_val copy) {
  const gr_value *v = gr_at(o->rw->old, n->in[k]);
  gr_val out = gr_cast(&o->rw->b, copy, v->type.dtype);
  if (gr_is(out)) gr_at(o->rw->b.g, out)->layout = v->layout;
  return out;
}

static void copy_node(offloader *o, uint32_t i) {
  const gr_node *n = &o->rw->old->nodes[i];
  gr_val *map = o->rw->map, before[GR_MAX_ARGS];
  fetch(o, i);
  for (int k = 0; k < n->n_in; k++) before[k] = map[n->in[k].id];
  for (int k = 0; k < n->n_in; k++)
    if (gr_is(o->copies[i][k])) map[n->in[k].id] = operand(o, n, k, o->copies[i][k]);
  gr_copy_node(o->rw, n);
  for (int k = 0; k < n->n_in; k++) map[n->in[k].id] = before[k];
}

// ---- The pass -----------------------------------------------------------------------------------

static void find_moved(offloader *o) {
  const gr_graph *g = o->rw->old;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    o->only_moved[i] =
        g->nodes[i].op == &gr_op_cast && is_away(o, gr_cast_from(g, g->nodes[i].out));
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_value *v = gr_at(g, g->nodes[i].in[k]);
      if (v->role == GR_TEMP && !is_gather(&g->nodes[i]) && !o->only_moved[i])
        o->only_moved[v->node] = false;
    }
}

static void visit(offloader *o, uint32_t i) {
  const gr_graph *g = o->rw->old;
  uint32_t next = i + 1;
  if (o->only_moved[i]) return;
  if (gathers_copies(o, i)) {
    fetch(o, i);
    while (next < g->n_nodes && !gathers_copies(o, next)) next++;
    if (next < g->n_nodes) fetch(o, next);
  }
  copy_node(o, i);
}

// States that become what such a weight is: a copy is written in their place.
static void copy_nexts(offloader *o) {
  const gr_graph *g = o->rw->old;
  for (uint32_t i = 1; i < g->n_values; i++) {
    gr_val next = g->values[i].next;
    if (g->values[i].role != GR_STATE || next.id == i || !is_away(o, next)) continue;
    gr_val copy = emit(o, 1, &next);
    gr_at(o->rw->b.g, o->rw->map[i])->next = copy;
  }
}

gr_status gr_pass_offload(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  const char *axis = rw->opt->sharding.zero_axis;
  offloader o = {.rw = rw, .axis = axis ? gr_mesh_axis(&old->mesh, axis) : -1};
  gr_copy_leaves(rw);
  o.copies = GR_NEW(old->tables, gr_val *, old->n_nodes + 1);
  o.only_moved = GR_NEW(old->tables, bool, old->n_nodes + 1);
  if (o.axis >= 0) find_moved(&o);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++)
    if (o.axis >= 0)
      visit(&o, i);
    else
      gr_copy_node(rw, &old->nodes[i]);
  gr_copy_links(rw);
  if (o.axis >= 0) copy_nexts(&o);
  return GR_OK;
}
