// relayout.c - converts a value from one layout to another. For each mesh axis the collective is an
// entry of this table:
//
//     from \ to   R             S(e)              P
//     R           -             slice             (never)
//     S(d)        all_gather    d = e: -          (never)
//     P           all_reduce    reduce_scatter    -
#include "compiler/passes/relayout.h"
#include "ops/comm/collective.h"

int64_t gr_relayout_cost(gr_axis_placement source, gr_axis_placement target, int64_t bytes) {
  if (source == target) return 0;
  if (target == GR_PARTIAL) return GR_RELAYOUT_NEVER;
  if (source == GR_REPLICATE) return 1;
  if (source == GR_PARTIAL)
    return 2 * bytes + (target >= 0);  // a scatter sends half as much, but then a gather follows
  if (target == GR_REPLICATE) return bytes;
  return 2 * bytes;  // Shard(d) to Shard(e), by way of Replicate
}

static const gr_op *op_for(gr_axis_placement source, gr_axis_placement target) {
  if (source >= 0) return &gr_op_all_gather;
  if (source == GR_REPLICATE) return &gr_op_shard_slice;
  return target == GR_REPLICATE ? &gr_op_all_reduce : &gr_op_reduce_scatter;
}

// One entry of the table; Shard(d) to Shard(e) gathers first.
static gr_val convert_axis(gr_builder *b, gr_val v, int axis, gr_axis_placement target,
                           int64_t group) {
  gr_layout layout = gr_at(b->g, v)->layout;
  gr_type t = gr_at(b->g, v)->type;
  gr_axis_placement source = layout.placement[axis], dim = source >= 0 ? source : target;
  const gr_op *op = op_for(source, target);
  struct gr_coll attr = {.mesh_axis = axis, .ranks = b->g->mesh.axis[axis].size};
  if (dim >= 0) attr.dim = (gr_list){1, {dim}};
  if (dim >= 0 && op->collective) attr.group = group;
  if (source >= 0) attr.size = (gr_list){1, {t.dim[dim] * attr.ranks - layout.pad[axis]}};
  gr_val w = GR_EMIT(b, op, &attr, v);
  if (b->err) return GR_NONE;
  bool split = source < 0 && target >= 0;
  int64_t made = split ? gr_at(b->g, w)->type.dim[dim] * attr.ranks : 0;
  layout.placement[axis] = source >= 0 ? GR_REPLICATE : target;
  layout.pad[axis] = split ? (int32_t)(made - t.dim[dim]) : 0;
  gr_at(b->g, w)->layout = layout;
  return w;
}

// The order of moves over several axes. Gathers come first, and of axes that split one dimension
// the last, which is the innermost. A short slice is stored densely, so that its other dimensions
// can be neither split nor put together: padding is the last to come and the first to go, also
// where it is to stay, if another axis does either. Sums are scattered before others are made
// whole: then there is less left to sum. Virtual shards are summed last: they come one by one.
enum { GATHER_PADDED, GATHER, SCATTER, SLICE, SCATTER_PADDED, SLICE_PADDED, REDUCE, LAST, STAYS };

static bool another_axis_changes(const gr_builder *b, const gr_layout *source,
                                 const gr_layout *target, int axis) {
  for (int a = 0; a < b->g->mesh.n_axes; a++)
    if (a != axis && source->placement[a] != target->placement[a] &&
        (source->placement[a] >= 0 || target->placement[a] >= 0))
      return true;
  return false;
}

static int stage_of(const gr_builder *b, gr_val v, const gr_layout *target, int axis) {
  const gr_value *x = gr_at(b->g, v);
  gr_axis_placement source = x->layout.placement[axis], wanted = target->placement[axis];
  bool must_move = source != wanted, waits = false;
  for (int a = 0; a < axis; a++) {
    bool shares = x->layout.placement[a] == source || target->placement[a] == source;
    must_move |= source >= 0 && shares && x->layout.placement[a] != target->placement[a];
    waits |= wanted >= 0 && target->placement[a] == wanted && x->layout.placement[a] != wanted;
  }
  must_move |= x->layout.pad[axis] && another_axis_changes(b, &x->layout, target, axis);
  if (!must_move || (source < 0 && waits)) return STAYS;
  if (source >= 0) return x->layout.pad[axis] ? GATHER_PADDED : GATHER;
  if (wanted == GR_REPLICATE) return axis == gr_mesh_virtual(&b->g->mesh) ? LAST : REDUCE;
  bool padded = x->type.dim[wanted] % b->g->mesh.axis[axis].size != 0;
  return (source == GR_PARTIAL ? SCATTER : SLICE) + (padded ? SCATTER_PADDED - SCATTER : 0);
}

gr_val gr_relayout_as(gr_builder *b, gr_val v, gr_layout target, int64_t group) {
  for (int stage = 0; stage != STAYS && !b->err;) {
    int axis = 0;
    stage = STAYS;
    for (int a = 0; a < b->g->mesh.n_axes; a++) {
      int s = stage_of(b, v, &target, a);
      if (s < stage || (s == stage && s == GATHER)) stage = s, axis = a;
    }
    if (stage != STAYS) v = convert_axis(b, v, axis, target.placement[axis], group);
  }
  return b->err ? GR_NONE : v;
}

gr_val gr_relayout(gr_builder *b, gr_val v, gr_layout target) {
  return gr_relayout_as(b, v, target, 0);
}
