// coalesce_collectives.c - joins collectives, so that ranks synchronise once for many values.
//
// Most weights are small, and every collective waits for the slowest rank. So a collective whose
// result is not read yet is deferred and joined with others of its kind on the same mesh axis,
// until one of the results is read or a byte limit is reached. The joined values stay where they
// are in memory: nothing is packed.
//
// A deferred collective keeps its operand alive. The operand of an in-place all_reduce would be
// live anyway; those of reduce_scatter and all_gather would not, so their limit is lower.
//
// Collectives of a group (units.h) are joined with each other and with no others, whatever their
// size. Slices of states are available from the start, so the first collective of a group that
// gathers them runs for all; any other group runs at its last collective.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/units.h"
#include "ops/comm/collective.h"

// Bytes of a coalesced all_reduce, of the first one of gradients, as in PyTorch's DDP
// (bucket_cap_mb), and of one that moves slices. The backward pass finds gradients of the last
// layers first: a small first sum begins while most of it is still to be computed.
static const size_t max_sums = 25 << 20, max_first_sum = 1 << 20, max_slices = 4 << 20;

// Deferred collectives of one kind, which are emitted as one. n is 0 once they have been.
typedef struct deferred {
  const gr_node *node[GR_MAX_ARGS];  // of the old graph, in its order
  int n;
  size_t bytes;
} deferred;

typedef struct coalescer {
  gr_rewrite *rw;
  deferred *all;
  uint32_t n;
  uint32_t *deferred_in;  // by old value: 1 + the entry of `all` that will compute it; 0: none
  uint32_t *follower;     // by old value: 1 + the collective that is deferred until it is computed
  uint32_t *leader;       // by old value of a follower's result: the value it is deferred for
  uint32_t *next_in_group;   // by old node: 1 + the next collective of its group, or 0
  bool *first_in_group;      // by old node
  bool *done;                // by old node: it was emitted ahead of its place
  uint32_t loss_at;          // the node of the loss: the backward pass comes after it
  bool summed[GR_MAX_MESH];  // by mesh axis: the first sum of gradients was emitted
} coalescer;

static const struct gr_coll *attr_of(const gr_node *n) { return n->attr; }

static size_t bytes_of(const gr_graph *g, const gr_node *n) {
  size_t in = gr_type_bytes(&gr_at(g, n->in[0])->type);
  size_t out = gr_type_bytes(&gr_at(g, n->out)->type);
  return in > out ? in : out;
}

// Whether two collectives may become one: the same op over the same mesh axis, group and dtype.
static bool can_coalesce(const gr_graph *g, const gr_node *a, const gr_node *b) {
  return a->op == b->op && attr_of(a)->mesh_axis == attr_of(b)->mesh_axis &&
         attr_of(a)->group == attr_of(b)->group &&
         gr_at(g, a->out)->type.dtype == gr_at(g, b->out)->type.dtype;
}

static struct gr_coll joined_attr(const deferred *b) {
  struct gr_coll a = *attr_of(b->node[0]);
  for (int k = 1; k < b->n; k++) {
    const struct gr_coll *more = attr_of(b->node[k]);
    if (more->dim.n) a.dim.items[a.dim.n++] = more->dim.items[0];
    if (more->size.n) a.size.items[a.size.n++] = more->size.items[0];
  }
  return a;
}

static void visit(coalescer *j, uint32_t i);

// Visits the followers of collectives that have just been emitted.
static void visit_followers(coalescer *j, const gr_node *const *made, int n) {
  for (int k = 0; k < n; k++) {
    uint32_t *next = &j->follower[made[k]->out.id], i = *next;
    if (!i) continue;
    *next = 0, j->leader[j->rw->old->nodes[i - 1].out.id] = 0;
    visit(j, i - 1);
  }
}

// Emits deferred collectives as one; a single one is copied unchanged.
static void emit(coalescer *j, deferred *b) {
  gr_rewrite *rw = j->rw;
  const gr_node *made[GR_MAX_ARGS];
  int n = b->n;
  gr_val in[GR_MAX_ARGS], out = GR_NONE;
  if (b->n == 1) gr_copy_node(rw, b->node[0]);
  rw->b.loc = b->n ? b->node[0]->loc : GR_NOWHERE, rw->b.scope = NULL;
  for (int k = 0; k < b->n; k++) in[k] = rw->map[b->node[k]->in[0].id];
  if (b->n > 1) {
    struct gr_coll attr = joined_attr(b);
    out = gr_emit(&rw->b, b->node[0]->op, &attr, b->n, in);
  }
  for (int k = 0; k < b->n; k++) {
    uint32_t old_id = b->node[k]->out.id;
    j->deferred_in[old_id] = 0;
    if (!gr_is(out)) continue;
    rw->map[old_id] = (gr_val){out.id + (uint32_t)k};
    gr_at(rw->b.g, rw->map[old_id])->layout = rw->old->values[old_id].layout;
  }
  if (n) memcpy(made, b->node, sizeof *made * (size_t)n);
  b->n = 0, b->bytes = 0;
  visit_followers(j, made, n);
}

// The entry that n can join: that of its kind, or an empty one.
static deferred *find(coalescer *j, const gr_node *n) {
  uint32_t empty = j->n;
  for (uint32_t i = 0; i < j->n; i++) {
    if (!j->all[i].n && empty == j->n) empty = i;
    if (j->all[i].n && can_coalesce(j->rw->old, j->all[i].node[0], n)) return &j->all[i];
  }
  j->n += empty == j->n;
  return &j->all[empty];
}

static void defer(coalescer *j, const gr_node *n) {
  deferred *b = find(j, n);
  if (b->n == GR_MAX_ARGS) emit(j, b), b = find(j, n);
  b->node[b->n++] = n, b->bytes += bytes_of(j->rw->old, n);
  j->deferred_in[n->out.id] = 1 + (uint32_t)(b - j->all);
}

static size_t limit_of(const coalescer *j, const gr_node *n) {
  if (j->rw->opt->debug.coalesce_bytes) return j->rw->opt->debug.coalesce_bytes;
  if (n->op != &gr_op_all_reduce) return max_slices;
  bool behind = (uint32_t)(n - j->rw->old->nodes) > j->loss_at;
  return behind && !j->summed[attr_of(n)->mesh_axis] ? max_first_sum : max_sums;
}

// Large tensors are not coalesced: joining gains little, and they would flush the others.
static void defer_or_copy(coalescer *j, const gr_node *n) {
  size_t limit = limit_of(j, n), bytes = bytes_of(j->rw->old, n);
  bool *summed = &j->summed[attr_of(n)->mesh_axis], sum = limit == max_first_sum;
  if (bytes > limit / 2) {
    *summed |= sum;
    gr_copy_node(j->rw, n);
    return;
  }
  deferred *b = find(j, n);
  if (b->n && b->bytes + bytes > limit) *summed |= sum, emit(j, b);
  defer(j, n);
}

// ---- Groups -------------------------------------------------------------------------------

static bool is_grouped(const gr_node *n) {
  return n->op->collective && n->n_in == 1 && attr_of(n)->group > 0;
}

static bool is_gather(const coalescer *j, uint32_t i) {
  const gr_node *n = &j->rw->old->nodes[i];
  return is_grouped(n) && gr_is(gr_units_state(j->rw->old, n->in[0]));
}

static void link_groups(coalescer *j) {
  const gr_graph *g = j->rw->old;
  int64_t most = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (is_grouped(&g->nodes[i]) && attr_of(&g->nodes[i])->group > most)
      most = attr_of(&g->nodes[i])->group;
  uint32_t *last = GR_NEW(g->tables, uint32_t, most + 1);  // by group: 1 + the node, or 0
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    if (!is_grouped(&g->nodes[i])) continue;
    uint32_t *latest = &last[attr_of(&g->nodes[i])->group];
    if (*latest) j->next_in_group[*latest - 1] = i + 1;
    j->first_in_group[i] = !*latest;
    *latest = i + 1;
  }
}

// The next collective of node i's group that can be joined with it and is not emitted yet, as
// 1 + its index, or 0.
static uint32_t next_to_coalesce(const coalescer *j, uint32_t i) {
  const gr_node *nodes = j->rw->old->nodes;
  for (uint32_t k = j->next_in_group[i]; k; k = j->next_in_group[k - 1])
    if (!j->done[k - 1] && can_coalesce(j->rw->old, &nodes[i], &nodes[k - 1])) return k;
  return 0;
}

// Emits the casts that a state has gone through before it is gathered, ahead of their place.
static void emit_casts(coalescer *j, gr_val v) {
  const gr_value *value = gr_at(j->rw->old, v);
  if (value->role != GR_TEMP || j->done[value->node]) return;
  j->done[value->node] = true;
  emit_casts(j, j->rw->old->nodes[value->node].in[0]);
  gr_copy_node(j->rw, &j->rw->old->nodes[value->node]);
}

// Emits one all_gather of all states of node i's group, or of what they are cast to.
static void gather(coalescer *j, uint32_t i) {
  for (uint32_t k = i + 1; k; k = next_to_coalesce(j, k - 1)) {
    if (!is_gather(j, k - 1)) continue;
    j->done[k - 1] = true;
    emit_casts(j, j->rw->old->nodes[k - 1].in[0]);
    defer(j, &j->rw->old->nodes[k - 1]);
  }
  emit(j, find(j, &j->rw->old->nodes[i]));
}

// Gathers the next group after a node already now, so that the gather overlaps with computation.
static void gather_next(coalescer *j, uint32_t after) {
  for (uint32_t i = after + 1; i < j->rw->old->n_nodes; i++)
    if (!j->done[i] && j->first_in_group[i] && is_gather(j, i)) {
      gather(j, i);
      return;
    }
}

static void visit_grouped(coalescer *j, uint32_t i) {
  const gr_node *n = &j->rw->old->nodes[i];
  const gr_sharding_settings *o = &j->rw->opt->sharding;
  gr_prefetch forward = o->forward_prefetch ? GR_PREFETCH_PRE : GR_PREFETCH_NONE;
  gr_prefetch prefetch = i > j->loss_at ? o->prefetch : forward;
  if (is_gather(j, i)) {
    if (!j->done[i]) gather(j, i);
    if (j->first_in_group[i] && prefetch == GR_PREFETCH_PRE) gather_next(j, i);
    return;
  }
  defer(j, n);
  if (next_to_coalesce(j, i)) return;
  if (n->op == &gr_op_reduce_scatter && prefetch == GR_PREFETCH_POST) gather_next(j, i);
  emit(j, find(j, n));
}

// ---- The pass -----------------------------------------------------------------------------

// Emits the deferred collective that computes a value.
static void emit_for(coalescer *j, uint32_t v) {
  if (j->leader[v]) emit_for(j, j->leader[v]);
  if (j->deferred_in[v]) emit(j, &j->all[j->deferred_in[v] - 1]);
}

// A gradient that is reduce-scattered over one mesh axis and then all-reduced over another: if the
// first is deferred, the second becomes its follower.
static bool defer_behind(coalescer *j, uint32_t i) {
  const gr_node *n = &j->rw->old->nodes[i];
  uint32_t v = n->in[0].id;
  if (!n->op->collective || n->n_in > 1 || j->follower[v]) return false;
  if (!j->deferred_in[v] && !j->leader[v]) return false;
  j->follower[v] = i + 1, j->leader[n->out.id] = v;
  return true;
}

static void visit(coalescer *j, uint32_t i) {
  const gr_node *n = &j->rw->old->nodes[i];
  if (j->done[i] && !n->op->collective) return;
  if (n->n_in && defer_behind(j, i)) return;
  for (int k = 0; k < n->n_in; k++) emit_for(j, n->in[k].id);
  if (is_grouped(n))
    visit_grouped(j, i);
  else if (n->op->collective && n->n_in == 1)
    defer_or_copy(j, n);
  else
    j->done[i] = true, gr_copy_node(j->rw, n);
}

// The number of collectives behind the gradient check, one after the other, that each node behind
// it waits for.
static uint32_t find_depths(const gr_graph *g, uint32_t first, uint32_t *depth) {
  uint32_t most = 0;
  for (uint32_t i = first; i < g->n_nodes; i++) {
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_value *v = gr_at(g, g->nodes[i].in[k]);
      if (v->role != GR_TEMP || v->node < first) continue;
      uint32_t d = depth[v->node] + g->nodes[v->node].op->collective;
      if (d > depth[i]) depth[i] = d;
    }
    if (depth[i] > most) most = depth[i];
  }
  return most;
}

// The order in which nodes are visited. An optimizer that sums over a weight (Adafactor) emits, for
// one weight after another, a collective, what reads it, and the next collective: in that order
// nothing could be joined. So the updates of all weights are visited side by side, by what they
// wait for. Other optimizers wait for nothing, and the order stays as it is.
static uint32_t *find_order(const gr_graph *g) {
  uint32_t *order = GR_NEW(g->tables, uint32_t, g->n_nodes + 1), n = 0, first = 0;
  while (first < g->n_nodes && g->nodes[first].op != &gr_op_finite_check) first++;
  for (uint32_t i = 0; i < first; i++) order[n++] = i;
  uint32_t *depth = GR_NEW(g->tables, uint32_t, g->n_nodes + 1),
           most = find_depths(g, first, depth);
  for (uint32_t d = 0; d <= most; d++)
    for (uint32_t i = first; i < g->n_nodes; i++)
      if (depth[i] == d) order[n++] = i;
  return order;
}

static uint32_t count_collectives(const gr_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op->collective;
  return n;
}

gr_status gr_pass_coalesce_collectives(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  uint32_t n = count_collectives(old);
  if (!n) return gr_keep(rw);
  const uint32_t *order = find_order(old);
  const gr_value *loss = gr_at(old, old->loss);
  coalescer j = {.rw = rw, .all = GR_NEW(old->tables, deferred, n)};
  j.deferred_in = GR_NEW(old->tables, uint32_t, old->n_values);
  j.follower = GR_NEW(old->tables, uint32_t, old->n_values);
  j.leader = GR_NEW(old->tables, uint32_t, old->n_values);
  j.next_in_group = GR_NEW(old->tables, uint32_t, old->n_nodes + 1);
  j.first_in_group = GR_NEW(old->tables, bool, old->n_nodes + 1);
  j.done = GR_NEW(old->tables, bool, old->n_nodes + 1);
  j.loss_at = gr_is(old->loss) && loss->role == GR_TEMP ? loss->node : UINT32_MAX;
  gr_copy_leaves(rw);
  rw->b.distinct = true;  // what differs stays different: no two values become one
  link_groups(&j);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) visit(&j, order[i]);
  for (bool more = true; more && !rw->b.err;) {  // emitting may defer followers
    more = false;
    for (uint32_t i = 0; i < j.n; i++) more |= j.all[i].n > 0, emit(&j, &j.all[i]);
  }
  gr_copy_links(rw);
  return GR_OK;
}
