// prove_layout.c - proves that every value on every rank matches its layout: replicated, sharded,
// or a partial sum.
//
// The proof is by induction over the nodes, separately for each axis of the mesh: the placements of
// a node's operands and results must match one of its op's sharding rules (the tests of ops compare
// each rule with the op on one rank), and a collective changes the placement only along its own
// axis, by the table of relayout.c. So a reduction that is missing, done twice or done over another
// axis is an error at the node that reads the value, and all ranks compute replicated values from
// the same numbers.
//
// Only slices depend on a rank's coordinates, and along an axis there are three kinds of slices
// (full, short, empty), so the cost does not depend on the number of ranks.
#include "compiler/plan/prove.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

static gr_axis_placement placement(const gr_graph *g, gr_val v, int axis) {
  return gr_at(g, v)->layout.placement[axis];
}

// "S0 R -> P": the placements of a node's operands and results along an axis.
static const char *placements_text(const gr_graph *g, const gr_node *n, int axis, char buf[160]) {
  size_t used = 0;
  for (int k = 0; k < n->n_in + n->n_out && used < 150; k++) {
    gr_axis_placement p = placement(g, k < n->n_in ? n->in[k] : gr_out(n, k - n->n_in), axis);
    const char *before = k == n->n_in ? (k ? " -> " : "-> ") : k ? " " : "";
    used += (size_t)(p >= 0 ? snprintf(buf + used, 160 - used, "%sS%d", before, p)
                            : snprintf(buf + used, 160 - used, "%s%s", before,
                                       p == GR_PARTIAL ? "P" : "R"));
  }
  return buf;
}

// The node's line in the model; for nodes that passes add for the whole model, an operand's line.
static gr_loc loc_near(const gr_graph *g, const gr_node *n) {
  gr_loc loc = n->loc;
  for (int k = 0; !loc.file && k < n->n_in; k++) loc = gr_loc_of(g, n->in[k]);
  return loc;
}

static gr_status breaks_rules(const gr_graph *g, const gr_node *n, int axis) {
  char text[160] = "";
  return gr_fail(GR_ERR_BUG, loc_near(g, n), "'%s' has no sharding rule '%s' along mesh axis '%s'",
                 n->op->name, placements_text(g, n, axis, text), g->mesh.axis[axis].name);
}

// ---- Ops ------------------------------------------------------------------------------------

static bool is_replicated(const gr_graph *g, const gr_node *n, int axis) {
  for (int k = 0; k < n->n_in; k++)
    if (placement(g, n->in[k], axis) != GR_REPLICATE) return false;
  for (int k = 0; k < n->n_out; k++)
    if (placement(g, gr_out(n, k), axis) != GR_REPLICATE) return false;
  return true;
}

static bool follows(const gr_graph *g, const gr_node *n, const gr_sharding_rule *rule, int axis) {
  for (int k = 0; k < n->n_in; k++)
    if (placement(g, n->in[k], axis) != rule->in[k]) return false;
  for (int k = 0; k < n->n_out; k++)
    if (placement(g, gr_out(n, k), axis) != rule->out[k]) return false;
  return true;
}

// Rules are written for global types.
static void global_call_of(const gr_graph *g, const gr_node *n, gr_op_call *call) {
  gr_op_call_of(g, n, call);
  for (int k = 0; k < n->n_in; k++)
    call->in[k] = gr_type_global(&call->in[k], &gr_at(g, n->in[k])->layout, &g->mesh);
  for (int k = 0; k < n->n_out; k++)
    call->out[k] = gr_type_global(&call->out[k], &gr_at(g, gr_out(n, k))->layout, &g->mesh);
}

static gr_status prove_op(const gr_graph *g, const gr_node *n) {
  for (int a = 0; a < g->mesh.n_axes; a++) {
    gr_op_call call;
    gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
    int count, i = 0;
    if (is_replicated(g, n, a)) continue;  // every op allows replicated operands and results
    if (a == gr_mesh_virtual(&g->mesh)) continue;  // a run of the program is one slice of it
    global_call_of(g, n, &call);
    GR_TRY(gr_op_sharding_rules(&call, rules, &count));
    while (i < count && !follows(g, n, &rules[i], a)) i++;
    if (i == count) return breaks_rules(g, n, a);
  }
  return GR_OK;
}

// Copies are of values one by one, each of its own layout.
static gr_status prove_copies(const gr_graph *g, const gr_node *n) {
  for (int a = 0; a < g->mesh.n_axes; a++)
    for (int k = 0; k < n->n_in; k++)
      if (placement(g, n->in[k], a) != placement(g, gr_out(n, k), a)) return breaks_rules(g, n, a);
  return GR_OK;
}

// ---- Moves between layouts --------------------------------------------------------------------

static bool is_move(const gr_op *op, gr_axis_placement before, gr_axis_placement after) {
  if (op == &gr_op_all_reduce) return before == GR_PARTIAL && after == GR_REPLICATE;
  if (op == &gr_op_all_gather) return before >= 0 && after == GR_REPLICATE;
  if (op == &gr_op_reduce_scatter) return before == GR_PARTIAL && after >= 0;
  return op == &gr_op_shard_slice && before == GR_REPLICATE && after >= 0;
}

static gr_status prove_peers(const gr_graph *g, const gr_node *n) {
  const struct gr_coll *a = n->attr;
  if (a->mesh_axis < 0 || a->mesh_axis >= g->mesh.n_axes)
    return gr_fail(GR_ERR_BUG, n->loc, "'%s' moves values over no axis of the mesh", n->op->name);
  if (a->ranks == g->mesh.axis[a->mesh_axis].size) return GR_OK;
  return gr_fail(GR_ERR_BUG, n->loc, "'%s' is for %lld ranks, but mesh axis '%s' has %d",
                 n->op->name, (long long)a->ranks, g->mesh.axis[a->mesh_axis].name,
                 g->mesh.axis[a->mesh_axis].size);
}

// Checks that the rows that a kernel moves for rank `coord` of the axis are those the rank holds.
static bool same_rows(const gr_type *whole, const gr_type *slice, int dim, int ranks, int coord) {
  const gr_mesh axis = {1, {{"", ranks}}};
  gr_layout l = gr_layout_replicated;
  int64_t offset[GR_MAX_RANK], size[GR_MAX_RANK], first;
  l.placement[0] = (gr_axis_placement)dim;
  gr_layout_slice(whole, &l, &axis, coord, offset, size);
  return gr_coll_rows(whole->dim[dim], ranks, coord, &first) == size[dim] && first == offset[dim] &&
         first + size[dim] <= whole->dim[dim] && size[dim] <= slice->dim[dim];
}

// Along an axis the first ranks have full slices, the next has the remainder, and the others have
// none: the two ranks at each border and the last rank represent all.
static gr_status prove_slices(const gr_graph *g, const gr_node *n, gr_val whole, gr_val slice,
                              int dim) {
  const gr_type *w = &gr_at(g, whole)->type, *s = &gr_at(g, slice)->type;
  int ranks = (int)((const struct gr_coll *)n->attr)->ranks,
      full = (int)(w->dim[dim] / s->dim[dim]);
  int coords[] = {0, full - 1, full, full + 1, ranks - 1};
  for (size_t i = 0; i < sizeof coords / sizeof *coords; i++)
    if (coords[i] >= 0 && coords[i] < ranks && !same_rows(w, s, dim, ranks, coords[i]))
      return gr_fail(GR_ERR_BUG, n->loc,
                     "'%s' moves rows that differ from those that rank %d of mesh axis '%s' holds",
                     n->op->name, coords[i],
                     g->mesh.axis[((const struct gr_coll *)n->attr)->mesh_axis].name);
  return GR_OK;
}

// If several axes shard one dimension, the first is the outermost: it is split first and gathered
// last, otherwise the order of the rows would change.
static bool is_innermost(const gr_graph *g, gr_val whole, int axis, gr_axis_placement dim) {
  for (int a = axis + 1; a < g->mesh.n_axes; a++)
    if (placement(g, whole, a) == dim) return false;
  return true;
}

static gr_status prove_moved(const gr_graph *g, const gr_node *n, int k) {
  const struct gr_coll *attr = n->attr;
  int axis = (int)attr->mesh_axis;
  gr_val in = n->in[k], out = gr_out(n, k);
  gr_axis_placement before = placement(g, in, axis), after = placement(g, out, axis);
  gr_axis_placement dim = before >= 0 ? before : after;
  for (int a = 0; a < g->mesh.n_axes; a++)
    if (a != axis && placement(g, in, a) != placement(g, out, a)) return breaks_rules(g, n, a);
  if (!is_move(n->op, before, after)) return breaks_rules(g, n, axis);
  if (dim < 0) return GR_OK;
  gr_val whole = before >= 0 ? out : in, slice = before >= 0 ? in : out;
  if (k >= attr->dim.n || attr->dim.items[k] != dim)
    return gr_fail(GR_ERR_BUG, n->loc, "'%s' moves slices of another dimension than %d",
                   n->op->name, dim);
  if (!is_innermost(g, whole, axis, dim))
    return gr_fail(
        GR_ERR_BUG, n->loc,
        "'%s' over mesh axis '%s' mixes up rows: another axis splits dimension %d of its "
        "slices",
        n->op->name, g->mesh.axis[axis].name, dim);
  return prove_slices(g, n, whole, slice, dim);
}

static gr_status prove_move(const gr_graph *g, const gr_node *n) {
  GR_TRY(prove_peers(g, n));
  for (int k = 0; k < n->n_in; k++) GR_TRY(prove_moved(g, n, k));
  return GR_OK;
}

// ---- Loops ------------------------------------------------------------------------------------

static gr_status prove_nodes(const gr_graph *);

// The placement of a slice's sequence or of a result's stack, in which time is axis 0.
static gr_axis_placement stacked(gr_axis_placement p) {
  return p >= 0 ? (gr_axis_placement)(p + 1) : p;
}

static bool fits_leaf(const gr_graph *g, const gr_node *n, uint32_t leaf, int axis) {
  const gr_scan *s = n->attr;
  int k = gr_scan_operand(s, leaf);
  gr_axis_placement inside = s->body->values[leaf].layout.placement[axis];
  return k < 0 ||
         placement(g, n->in[k], axis) == (gr_scan_is_seq(s, leaf) ? stacked(inside) : inside);
}

static bool fits_carry(const gr_graph *g, const gr_node *n, int k, int axis) {
  const gr_graph *body = ((const gr_scan *)n->attr)->body;
  gr_val c = gr_scan_carry(n->attr, k);
  gr_axis_placement inside = placement(body, c, axis);
  return inside == placement(body, gr_at(body, c)->next, axis) &&
         inside == placement(g, gr_out(n, k), axis);
}

static bool fits_body(const gr_graph *g, const gr_node *n, int axis) {
  const gr_scan *s = n->attr;
  bool fits = true;
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++) fits &= fits_leaf(g, n, i, axis);
  for (int k = 0; k < s->n_carry; k++) fits &= fits_carry(g, n, k, axis);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    fits &= placement(g, gr_out(n, (int)s->n_carry + (int)j), axis) ==
            stacked(placement(s->body, s->body->results[j], axis));
  return fits;
}

static gr_status prove_loop(const gr_graph *g, const gr_node *n) {
  const gr_graph *body = ((const gr_scan *)n->attr)->body;
  for (int a = 0; a < g->mesh.n_axes; a++)
    if (a != gr_mesh_virtual(&g->mesh) && !fits_body(g, n, a)) return breaks_rules(g, n, a);
  return gr_note(prove_nodes(body), n->loc, "in the body of '%s'", n->op->name);
}

// ---- Programs ---------------------------------------------------------------------------------

static gr_status prove_nodes(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op->collective || n->op == &gr_op_shard_slice)
      GR_TRY(prove_move(g, n));
    else if (n->op == &gr_op_fetch)
      GR_TRY(prove_copies(g, n));
    else
      GR_TRY(n->op == &gr_op_scan ? prove_loop(g, n) : prove_op(g, n));
  }
  return GR_OK;
}

static bool is_same_everywhere(const gr_graph *g, gr_val v) {
  for (int a = 0; a < g->mesh.n_axes; a++)
    if (placement(g, v, a) != GR_REPLICATE) return false;
  return true;
}

// States and results outlive the program and must not be partial sums. Inputs may be partial sums,
// which their readers reduce.
static gr_status prove_ends(const gr_graph *g) {
  for (uint32_t i = 1; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    bool may_be = v->role != GR_STATE || v->kind == GR_KIND_GRAD_ACCUMULATOR;
    if (!may_be && gr_layout_is_partial(&v->layout, &g->mesh))
      return gr_fail(GR_ERR_BUG, v->loc, "state %s is a partial sum", v->name);
  }
  for (uint32_t i = 0; i < g->n_results; i++)
    if (gr_layout_is_partial(&gr_at(g, g->results[i])->layout, &g->mesh))
      return gr_fail(GR_ERR_BUG, gr_loc_of(g, g->results[i]), "result '%s' is a partial sum",
                     g->result_names[i]);
  return GR_OK;
}

// All ranks must make the same decision whether to apply a step.
static gr_status prove_decisions(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; n->op == &gr_op_finite_check && k < n->n_in; k++)
      if (!is_same_everywhere(g, n->in[k]))
        return gr_fail(GR_ERR_BUG, gr_loc_of(g, n->in[k]),
                       "'%s' decides by a value that may differ between ranks, operand %d",
                       n->op->name, k);
  }
  return GR_OK;
}

gr_status gr_prove_layouts(const gr_graph *g) {
  GR_TRY(prove_decisions(g));
  GR_TRY(prove_ends(g));
  return prove_nodes(g);
}
