// shard.c - SPMD partitioning: from the global graph to the program that every rank runs.
//
// Before this pass types are those of whole values, and only weights, inputs and optimizer states
// have layouts. After it every value has a layout, types are those of one rank's slice, and every
// change of layout is a collective or a slice in the graph. No strategy is named here: data
// parallelism, ZeRO, FSDP and tensor parallelism differ in the layouts that the pass starts from.
//
// One walk, front to back, decides greedily. For each mesh axis a node takes the cheapest of the
// sharding rules of its index notation (axes.c), given the layouts of its inputs; an input with
// another layout is converted by a collective (relayout.c). The cost of a rule is the bytes that
// the conversions of its operands move, plus those of converting its results to a layout that is
// required of them. An example, for y = matmul(x, w) with "mk,kn->mn" and x sharded by rows:
//
//   x     w     y
//   S0    R     S0    the batch is split: free if w is replicated, else w is gathered (FSDP)
//   R     S1    S1    columns of w: free if x is replicated (tensor parallelism)
//   S1    S0    P     rows of w: y is a partial sum, which its reader reduces
//
// Along an axis that shards the batch, moving an activation is charged ACTIVATION_MOVE_PENALTY
// times its bytes, so that weights are gathered instead, and so is moving back a result that
// is split otherwise: the ids of an embedding are few, but all that follows would have the whole
// batch on each rank. Along any other axis the fewest bytes win. A dimension that the ranks do not
// divide is sharded only for ops that allow padding (gr_padding).
#include "compiler/pass.h"
#include "compiler/passes/localize.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/relayout.h"
#include "compiler/passes/units.h"

#define NEVER GR_RELAYOUT_NEVER
#define AVOID (NEVER / 1024)  // a cost above that of any move: taken only without a choice
enum { ACTIVATION_MOVE_PENALTY = 16 };  // factor on the bytes of an activation, against a weight's

typedef struct shard {
  gr_rewrite *rw;
  const gr_layout **required;      // by old value: the layout that it must end with; NULL: any
  bool splits_batch[GR_MAX_MESH];  // by mesh axis: the batch is sharded over it
  bool *may_stay_partial;  // by old value: an accumulated gradient, which the update may reduce
  uint8_t *gathered;  // by old value: a bit for each mesh axis over which it was gathered already
  gr_val *pending;    // by old value: a Partial term that is still to be reduced and added, or none
  uint32_t *uses;     // by old value: the number of nodes and links that read it
  uint32_t *reader;   // by old value: the last node that reads it
  uint32_t *owner;    // by old value: the state whose gradient or next value it is, or 0
  gr_units *units;
  gr_rule_lists *rules;
  uint32_t loss_at;  // the node of the loss: the backward pass comes after it
} shard;

_Static_assert(GR_MAX_MESH <= 8, "shard.gathered has a bit for each axis of the mesh");

// ---- Choosing -----------------------------------------------------------------------

// A dimension is sharded over one mesh axis; only the batch may be sharded over several.
static bool can_shard(const shard *s, const gr_op *op, const gr_type *t, gr_axis_placement lay,
                      const gr_layout *so_far, int axis) {
  const gr_mesh *m = &s->rw->old->mesh;
  int64_t parts = m->axis[axis].size;
  bool alone = true;
  if (lay < 0) return true;
  for (int a = 0; a < axis; a++) {
    if (so_far->placement[a] != lay) continue;
    if (!s->splits_batch[a] || !s->splits_batch[axis]) return false;
    parts *= m->axis[a].size, alone = false;
  }
  return t->dim[lay] % parts == 0 || (alone && gr_op_may_pad(op, lay));
}

static bool leaves_batch(const shard *s, const gr_node *n, int k, int axis,
                         gr_axis_placement target) {
  gr_axis_placement source = gr_at(s->rw->b.g, s->rw->map[n->in[k].id])->layout.placement[axis];
  return s->splits_batch[axis] && source >= 0 && source != target &&
         !gr_is(gr_units_state(s->rw->old, n->in[k]));
}

// The cost of converting operand k of n to the placement that a sharding rule requires.
static int64_t conversion_cost(const shard *s, const gr_node *n, int k, int axis,
                               gr_axis_placement target) {
  const gr_rewrite *rw = s->rw;
  gr_axis_placement source = gr_at(rw->b.g, rw->map[n->in[k].id])->layout.placement[axis];
  int64_t made = (int64_t)gr_type_bytes(&gr_at(rw->old, n->out)->type);
  if (source >= 0 && target == GR_REPLICATE && s->gathered[n->in[k].id] >> axis & 1)
    return 0;  // the same all_gather was emitted for an earlier reader
  int64_t bytes = (int64_t)gr_type_bytes(&gr_at(rw->old, n->in[k])->type);
  // Ranks' terms are added as what they are cast to, rather than rounded first for being smaller.
  if (n->op == &gr_op_cast && source == GR_PARTIAL) bytes = 1 + 2 * bytes + made;
  // Terms that stay are added later, as what the node makes of them: of a broadcast that is more.
  if (source == GR_PARTIAL && target == source && !s->splits_batch[axis])
    return made > bytes ? 2 * (made - bytes) : 0;
  int64_t c = gr_relayout_cost(source, target, bytes);
  return c < NEVER && leaves_batch(s, n, k, axis, target) ? c * ACTIVATION_MOVE_PENALTY : c;
}

// Whether a gradient that may stay Partial does so along an axis. Gradient accumulation adds
// partial sums without communication, unless options.sharding.scatter is set. The accumulators are
// shared by the programs of all buckets: this must not depend on what is cheaper in one of them.
static bool waits_for_update(const shard *s, gr_axis_placement required) {
  return !s->rw->opt->sharding.scatter || required == GR_REPLICATE;
}

// The cost of a sharding rule for node n on one mesh axis; NEVER if a dimension cannot be sharded.
// in[] and out[] are what earlier axes have decided.
static int64_t rule_cost(const shard *s, const gr_node *n, const gr_sharding_rule *rule, int axis,
                         const gr_layout in[], const gr_layout out[]) {
  const gr_graph *old = s->rw->old;
  bool fits = true, parts = s->splits_batch[axis] && rule->out[0] >= 0;
  // What is computed of weights alone is whole, as they are where they are used: a part of it would
  // count as an activation, and others would be moved to lie beside it.
  int64_t total = parts && gr_units_only_states(old, n, s->loss_at) ? AVOID : 0;
  // A part of what all operands have whole is made by a slice, where one is needed: on a tie, the
  // statistics of a batch norm would be updated in parts and gathered.
  bool made = n->n_in > 0 && rule->out[0] >= 0, leaves = false;
  for (int k = 0; k < n->n_in; k++) made &= rule->in[k] == GR_REPLICATE;
  if (made) total++;
  for (int k = 0; k < n->n_in; k++) {
    total += conversion_cost(s, n, k, axis, rule->in[k]);
    leaves |= leaves_batch(s, n, k, axis, rule->in[k]);
    fits &= can_shard(s, n->op, &gr_at(old, n->in[k])->type, rule->in[k], &in[k], axis);
  }
  for (int k = 0; k < n->n_out; k++) {
    const gr_value *v = gr_at(old, gr_out(n, k));
    const gr_layout *required = s->required[gr_out(n, k).id];
    if (leaves && rule->out[k] > 0)
      total += ACTIVATION_MOVE_PENALTY *
               gr_relayout_cost(rule->out[k], 0, (int64_t)gr_type_bytes(&v->type));
    bool waits = required && s->may_stay_partial[gr_out(n, k).id] &&
                 waits_for_update(s, required->placement[axis]);
    if (waits && s->splits_batch[axis])
      total += rule->out[k] == GR_PARTIAL ? 0 : AVOID;
    else if (required && v->type.rank && !(waits && rule->out[k] == GR_PARTIAL))
      total += gr_relayout_cost(rule->out[k], required->placement[axis],
                                (int64_t)gr_type_bytes(&v->type));
    fits &= can_shard(s, n->op, &v->type, rule->out[k], &out[k], axis);
  }
  return fits ? total : NEVER;
}

// Chooses the sharding rule of old node n on one mesh axis; sets in[i] and out[i].placement[axis].
static gr_status choose(const shard *s, const gr_node *n, int axis, gr_layout in[],
                        gr_layout out[]) {
  const gr_sharding_rule *rules;
  int count, best = -1;
  int64_t least = NEVER - 1;
  if (axis == gr_mesh_virtual(&s->rw->old->mesh) && !s->splits_batch[axis]) return GR_OK;
  GR_TRY(gr_sharding_rules_of(s->rules, s->rw->old, n, &rules, &count));
  for (int i = 0; i < count; i++) {
    int64_t c = rule_cost(s, n, &rules[i], axis, in, out);
    if (c <= least) least = c, best = i;  // on ties, prefer sharding over replication
  }
  if (best < 0)
    return gr_fail(GR_ERR_UNSUPPORTED, n->loc, "no way to split '%s' over mesh axis '%s'",
                   n->op->name, s->rw->old->mesh.axis[axis].name);
  for (int k = 0; k < n->n_in; k++) in[k].placement[axis] = rules[best].in[k];
  for (int k = 0; k < n->n_out; k++) out[k].placement[axis] = rules[best].out[k];
  return GR_OK;
}

// ---- Destinations --------------------------------------------------------------------

static const gr_layout *save_layout(const shard *s, gr_layout l) {
  gr_layout *k = GR_NEW(s->rw->b.g->tables, gr_layout, 1);
  *k = l;
  return k;
}

// Required layouts: of gradients that of the update, of next values that of the state; scalar
// results and sums over the batch are replicated.
static void find_required(shard *s) {
  const gr_graph *old = s->rw->old;
  for (uint32_t i = 0; i < old->n_results; i++)
    if (!gr_at(old, old->results[i])->type.rank || gr_result_begins(old, i, "sum."))
      s->required[old->results[i].id] = &gr_layout_replicated;
  s->required[old->loss.id] = s->required[old->loss_denominator.id] = &gr_layout_replicated;
  for (uint32_t i = 1; i < old->leaves_end; i++) {
    const gr_value *v = &old->values[i];
    if (gr_is(v->grad)) {
      s->required[v->grad.id] = save_layout(s, gr_update_layout(&old->mesh, v, s->rw->opt));
      s->may_stay_partial[v->grad.id] = s->rw->opt->program.phase != GR_PHASE_WHOLE_STEP;
    }
    if (gr_is(v->next)) s->required[v->next.id] = &v->layout;
    s->owner[v->grad.id] = s->owner[v->next.id] = i;
  }
  s->required[0] = NULL, s->owner[0] = 0;
}

// ---- Sums ----------------------------------------------------------------------------
// The gradient of a value that several layers read is a sum: of a residual's gradient, which is
// replicated, and of each layer's, which tensor parallelism leaves Partial. In such a chain of
// additions partial sums are added up separately from the rest, and need a single all_reduce.

static void count_uses(shard *s) {
  const gr_graph *old = s->rw->old;
  for (uint32_t i = 0; i < old->n_nodes; i++)
    for (int k = 0; k < old->nodes[i].n_in; k++)
      s->uses[old->nodes[i].in[k].id]++, s->reader[old->nodes[i].in[k].id] = i;
  for (uint32_t i = 0; i < old->n_results; i++) s->uses[old->results[i].id]++;
  for (uint32_t i = 1; i < old->leaves_end; i++)
    s->uses[old->values[i].grad.id]++, s->uses[old->values[i].next.id]++;
  s->uses[old->loss.id]++, s->uses[old->loss_denominator.id]++;
}

// Whether the only reader of v is an addition: the chain of additions continues.
static bool feeds_one_add(const shard *s, gr_val v) {
  return s->uses[v.id] == 1 && s->rw->old->nodes[s->reader[v.id]].op == &gr_op_add;
}

static bool same_layout(const gr_rewrite *rw, gr_val a, gr_val b) {
  return gr_layout_same(&gr_at(rw->b.g, a)->layout, &gr_at(rw->b.g, b)->layout);
}

// Whether b is Partial on some axes and otherwise has the layout of a, which is Partial on none.
static bool is_term_of(const gr_rewrite *rw, gr_val a, gr_val b) {
  const gr_layout *l = &gr_at(rw->b.g, a)->layout, *m = &gr_at(rw->b.g, b)->layout;
  for (int i = 0; i < rw->old->mesh.n_axes; i++)
    if (l->placement[i] == GR_PARTIAL ||
        (m->placement[i] != GR_PARTIAL && m->placement[i] != l->placement[i]))
      return false;
  return !same_layout(rw, a, b);
}

// The sum of two values of equal layout; either may be GR_NONE.
static gr_val add_values(gr_builder *b, gr_val x, gr_val y) {
  if (!gr_is(x) || !gr_is(y)) return gr_is(x) ? x : y;
  gr_val sum = GR_EMIT(b, &gr_op_add, NULL, x, y);
  if (!b->err) gr_at(b->g, sum)->layout = gr_at(b->g, x)->layout;
  return sum;
}

// Reduces the pending term of value v and adds it: v is then complete.
static void add_pending(shard *s, uint32_t v) {
  gr_rewrite *rw = s->rw;
  if (!gr_is(s->pending[v]) || rw->b.err) return;
  gr_val term = gr_relayout(&rw->b, s->pending[v], gr_at(rw->b.g, rw->map[v])->layout);
  rw->map[v] = add_values(&rw->b, rw->map[v], term);
  s->pending[v] = GR_NONE;
}

// Emits add node n with the partial sums of x and y kept separate; false if that does not apply.
static bool add_separately(shard *s, const gr_node *n) {
  gr_rewrite *rw = s->rw;
  uint32_t x = n->in[0].id, y = n->in[1].id, to = n->out.id;
  if (gr_is(s->pending[y]) || is_term_of(rw, rw->map[y], rw->map[x])) x = y, y = n->in[0].id;
  gr_val a = rw->map[x], b = rw->map[y], p = s->pending[x], q = s->pending[y];
  if (gr_is(p) && gr_is(q) ? same_layout(rw, a, b) && same_layout(rw, p, q)
                           : gr_is(p) && same_layout(rw, a, b))
    rw->map[to] = add_values(&rw->b, a, b), s->pending[to] = add_values(&rw->b, p, q);
  else if (gr_is(p) && !gr_is(q) && same_layout(rw, p, b))
    rw->map[to] = a, s->pending[to] = add_values(&rw->b, p, b);
  else if (!gr_is(p) && !gr_is(q) && feeds_one_add(s, n->out) && is_term_of(rw, a, b))
    rw->map[to] = a, s->pending[to] = b;
  else
    return false;
  if (!feeds_one_add(s, n->out)) add_pending(s, to);
  return true;
}

// ---- Emitting -------------------------------------------------------------------------

static bool is_at(const shard *s, gr_val v, const gr_layout *to) {
  for (int a = 0; a < s->rw->old->mesh.n_axes; a++)
    if (gr_at(s->rw->b.g, v)->layout.placement[a] != to->placement[a]) return false;
  return true;
}

static bool is_split(const shard *s, gr_val v) {
  for (int a = 0; a < s->rw->old->mesh.n_axes; a++)
    if (gr_at(s->rw->b.g, v)->layout.placement[a] >= 0) return true;
  return false;
}

// Operand k of node i in the layout that the node requires. A sharded weight, or what it was cast
// to, is gathered only around its uses: between the forward and the backward pass of its unit its
// memory is free.
static gr_val convert_operand(shard *s, uint32_t i, int k, gr_layout to) {
  uint32_t id = s->rw->old->nodes[i].in[k].id;
  gr_val v = s->rw->map[id];
  gr_val state = gr_units_state(s->rw->old, (gr_val){id});
  bool gathers = gr_is(state) && is_split(s, v) && !is_at(s, v, &to);
  int64_t group = gathers ? gr_units_group(s->units, state.id, GR_MOVE_GATHER, i > s->loss_at) : 0;
  const gr_layout *current = &gr_at(s->rw->b.g, v)->layout;
  for (int a = 0; !gr_is(state) && a < s->rw->old->mesh.n_axes; a++)
    s->gathered[id] |=
        (uint8_t)((current->placement[a] >= 0 && to.placement[a] == GR_REPLICATE) << a);
  return gr_relayout_as(&s->rw->b, v, to, group);
}

// Whether the ranks' terms of a gradient are sent in options.precision.sent.
static bool reduces_narrow(const shard *s, gr_val v) {
  const gr_value *sum = gr_at(s->rw->b.g, v);
  return !s->rw->b.err && sum->type.dtype == GR_F32 && s->rw->opt->precision.sent != GR_F32 &&
         gr_layout_is_partial(&sum->layout, &s->rw->old->mesh);
}

// Converts a result to its required layout: a gradient's for the update, a next value's state.
static gr_val convert_result(shard *s, uint32_t id, gr_val v) {
  const gr_layout *required = s->required[id];
  uint32_t owner = s->owner[id];
  if (!required || is_at(s, v, required)) return v;
  bool updated = s->rw->old->values[owner].next.id == id;
  gr_move what = updated ? GR_MOVE_UPDATED : GR_MOVE_SCATTER;
  int64_t group = owner ? gr_units_group(s->units, owner, what, true) : 0;
  if (updated || !owner || !reduces_narrow(s, v))
    return gr_relayout_as(&s->rw->b, v, *required, group);
  v = gr_cast_local(&s->rw->b, v, s->rw->opt->precision.sent);
  return gr_cast_local(&s->rw->b, gr_relayout_as(&s->rw->b, v, *required, group), GR_F32);
}

static gr_status emit(shard *s, uint32_t i) {
  const gr_node *n = &s->rw->old->nodes[i];
  gr_rewrite *rw = s->rw;
  gr_layout in[GR_MAX_ARGS], out[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in || k < n->n_out; k++) in[k] = out[k] = gr_layout_replicated;
  rw->b.loc = n->loc, rw->b.scope = n->scope;
  if (n->op == &gr_op_add && !s->required[n->out.id] && add_separately(s, n)) return GR_OK;
  for (int k = 0; k < n->n_in; k++) add_pending(s, n->in[k].id);
  for (int a = 0; a < rw->old->mesh.n_axes; a++) GR_TRY(choose(s, n, a, in, out));

  gr_val args[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) args[k] = convert_operand(s, i, k, in[k]);
  const char *self = rw->b.created_by;
  rw->b.created_by = n->created_by;
  gr_val made = gr_emit_local(rw, rw->old, n, args, in, out);
  rw->b.created_by = self;
  for (int k = 0; gr_is(made) && k < n->n_out; k++) {
    gr_val v = {made.id + (uint32_t)k};
    uint32_t old = gr_out(n, k).id;
    gr_at(rw->b.g, v)->layout = gr_layout_of(&rw->old->values[old].type, out[k], &rw->b.g->mesh);
    rw->map[old] = convert_result(s, old, v);
  }
  return GR_OK;
}

// A result that is not a scalar may stay sharded along the batch, and only there. What is predicted
// is: a rank takes the rows of its own samples, also of what all ranks have computed.
static gr_layout result_layout(const shard *s, uint32_t result, gr_layout l) {
  const gr_graph *old = s->rw->old;
  bool rows =
      gr_result_begins(old, result, "predict.") && gr_at(old, old->results[result])->type.rank;
  for (int a = 0; a < old->mesh.n_axes; a++)
    l.placement[a] = s->splits_batch[a] && (rows || !l.placement[a]) ? 0 : GR_REPLICATE;
  return l;
}

static void link_all(shard *s) {
  gr_rewrite *rw = s->rw;
  const gr_graph *old = rw->old;
  gr_val *map = rw->map;
  for (uint32_t i = 0; i < old->n_results && !rw->b.err; i++) {
    gr_val *v = &map[old->results[i].id];
    gr_layout to = result_layout(s, i, gr_at(rw->b.g, *v)->layout);
    rw->b.scope = "result";
    *v = gr_relayout(&rw->b, *v, gr_result_begins(old, i, "sum.") ? gr_layout_replicated : to);
  }
  gr_copy_links(rw);
  rw->b.scope = "next";
  for (uint32_t i = 1; i < old->leaves_end && !rw->b.err; i++) {
    const gr_value *v = &old->values[i];  // one value may become several states, each elsewhere
    if (!gr_is(v->next)) continue;
    gr_val next = gr_relayout(&rw->b, map[v->next.id], v->layout);
    if (!rw->b.err) gr_at(rw->b.g, map[i])->next = next;
  }
}

static void copy_leaves(shard *s) {
  const gr_graph *old = s->rw->old;
  for (uint32_t i = 1; i < old->leaves_end; i++) {
    const gr_value *v = &old->values[i];
    if (v->role == GR_TEMP) continue;
    gr_type local = gr_type_local(&v->type, &v->layout, &old->mesh);
    gr_copy_leaf(s->rw, i, &local, gr_layout_of(&v->type, v->layout, &old->mesh));
    for (int a = 0; a < old->mesh.n_axes; a++)
      s->splits_batch[a] |= v->role == GR_INPUT && v->layout.placement[a] >= 0;
  }
}

gr_status gr_pass_shard(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  if (!old->mesh.n_axes) return gr_keep(rw);  // a single rank has all values whole
  gr_arena *arena = rw->b.g->tables;
  shard s = {.rw = rw,
             .required = GR_NEW(arena, const gr_layout *, old->n_values),
             .may_stay_partial = GR_NEW(arena, bool, old->n_values),
             .gathered = GR_NEW(arena, uint8_t, old->n_values),
             .pending = GR_NEW(arena, gr_val, old->n_values),
             .uses = GR_NEW(arena, uint32_t, old->n_values),
             .reader = GR_NEW(arena, uint32_t, old->n_values),
             .owner = GR_NEW(arena, uint32_t, old->n_values),
             .units = gr_units_open(arena, old, rw->opt),
             .rules = &(gr_rule_lists){.calls = gr_calls_make(arena)},
             .loss_at = gr_units_loss(old)};
  copy_leaves(&s);
  find_required(&s);
  count_uses(&s);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) GR_TRY(emit(&s, i));
  link_all(&s);
  return GR_OK;
}
