// annotate_sharding.c - sets the layout of every weight: from the model (`layout:`), then from the
// user's rules, last from those of the strategy. FSDP is a rule that shards weights over the data
// axis of the mesh; tensor parallelism is layouts that shard them along features.
//
// A layout of tensor parallelism names a dimension, and ops compute with the slices: a weight that
// the ranks cannot split evenly is an error if the user asked for it, and is replicated if a
// strategy did. FSDP gathers weights before they are used, so any dimension will do, and slices may
// be padded (ir/graph.h): a rank then holds 1/N of nearly all weights for any number N of ranks.
// Small weights may be replicated (wrap.c says why).
#include <fnmatch.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

// On a mesh without the axis (one rank, say) there is nothing to split over it.
static int axis_of(const gr_mesh *m, const char *name) { return name ? gr_mesh_axis(m, name) : -1; }

// The other axis of the mesh that splits dimension d; -1: none.
static int axis_that_splits(const gr_layout *l, const gr_mesh *m, int axis, gr_axis_placement d) {
  for (int a = 0; a < m->n_axes; a++)
    if (a != axis && l->placement[a] == d) return a;
  return -1;
}

static bool divides(const gr_value *v, const gr_layout *l, const gr_mesh *m, int axis,
                    gr_axis_placement d) {
  return d < v->type.rank && axis_that_splits(l, m, axis, d) < 0 &&
         v->type.dim[d] % m->axis[axis].size == 0;
}

// Whether the weight's optimizer can update slices along dimension d that the ranks do not divide.
static bool may_pad(const gr_options *o, const gr_value *v, gr_axis_placement d) {
  const gr_op *op = gr_update_rule_of(&o->optimizer, v->name, v->type.rank).op;
  return !op || gr_op_may_pad(op, d);
}

// The dimension that leaves a rank the least, the first of several: one that the ranks divide, if
// there is one. GR_REPLICATE: none leaves less than the whole, or the optimizer cannot do with it.
static gr_axis_placement smallest_slice_dim(const gr_value *v, gr_layout l, const gr_mesh *m,
                                            int axis, const gr_options *o) {
  gr_axis_placement best = GR_REPLICATE;
  l.placement[axis] = GR_REPLICATE;
  gr_type whole = gr_type_local(&v->type, &l, m);
  int64_t least = gr_type_count(&whole);
  for (gr_axis_placement d = 0; d < v->type.rank; d++) {
    if (axis_that_splits(&l, m, axis, d) >= 0) continue;
    if (v->type.dim[d] % m->axis[axis].size && !may_pad(o, v, d)) continue;
    l.placement[axis] = d;
    gr_type local = gr_type_local(&v->type, &l, m);
    if (gr_type_count(&local) < least) least = gr_type_count(&local), best = d;
  }
  return best;
}

static bool is_small(const gr_value *v, const gr_options *o) {
  return gr_type_bytes(&v->type) < o->sharding.replicate_below;
}

// What the model and the user's rules ask for: by[axis] is the rule, or NULL.
static gr_layout requested_layout(const gr_mesh *m, const gr_value *v, const gr_options *o,
                                  const gr_layout_rule *by[GR_MAX_MESH]) {
  gr_layout l = v->layout;
  for (int a = 0; a < GR_MAX_MESH; a++) by[a] = NULL;
  for (int i = 0; i < o->sharding.n_rules && v->kind == GR_KIND_WEIGHT; i++) {
    const gr_layout_rule *r = &o->sharding.rules[i];
    int axis = axis_of(m, r->axis);
    if (r->given && axis >= 0 && !fnmatch(r->pattern, v->name, 0))
      l.placement[axis] = r->placement, by[axis] = r;
  }
  return l;
}

gr_layout gr_weight_layout(const gr_mesh *m, const gr_value *v, const gr_options *o) {
  const gr_layout_rule *by[GR_MAX_MESH];
  gr_layout l = requested_layout(m, v, o, by);
  for (int i = 0; i < o->sharding.n_rules; i++) {
    const gr_layout_rule *r = &o->sharding.rules[i];
    int axis = axis_of(m, r->axis);
    if (r->given || axis < 0 || by[axis] || fnmatch(r->pattern, v->name, 0)) continue;
    if (r->placement == GR_REPLICATE ||
        (r->placement >= 0 && divides(v, &l, m, axis, r->placement)))
      l.placement[axis] = r->placement;
    if (r->placement == GR_ANY_DIM && !is_small(v, o))
      l.placement[axis] = smallest_slice_dim(v, l, m, axis, o);
  }
  return l;
}

gr_layout gr_update_layout(const gr_mesh *m, const gr_value *w, const gr_options *o) {
  gr_layout l = w->layout;
  int axis = axis_of(m, o->sharding.zero_axis);
  if (axis >= 0 && l.placement[axis] == GR_REPLICATE && !is_small(w, o))
    l.placement[axis] = smallest_slice_dim(w, l, m, axis, o);
  return l;
}

static gr_status refuse(const gr_value *v, const gr_layout *l, const gr_mesh *m, int axis,
                        gr_loc loc) {
  gr_axis_placement d = l->placement[axis];
  const char *name = m->axis[axis].name;
  char type[96];
  gr_type_text(&v->type, type);
  if (d >= v->type.rank)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc,
                           "weight '%s' is %s: there is no axis %d to split over mesh axis '%s'",
                           v->name, type, d, name),
                   "axes are counted from 0: S0 is the first");
  int other = axis_that_splits(l, m, axis, d);
  if (other >= 0)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "axis %d of weight '%s' is to be split over both '%s' and '%s'",
                d, v->name, m->axis[other].name, name),
        "an axis of a weight is split over one axis of the mesh");
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc,
                         "weight '%s' is %s: its axis %d, of %lld, does not divide by %s=%d",
                         v->name, type, d, (long long)v->type.dim[d], name, m->axis[axis].size),
                 "a size of '%s' that divides %lld, or distributed.layout=[{match:'%s',%s:R}] to "
                 "leave it whole",
                 name, (long long)v->type.dim[d], v->name, name);
}

// Checks that the requested layout is possible. Moments and accumulators have the update's layout,
// which may be padded.
static gr_status check_requested(const gr_rewrite *rw, const gr_value *v) {
  const gr_mesh *m = &rw->old->mesh;
  const gr_layout_rule *by[GR_MAX_MESH];
  gr_layout l = requested_layout(m, v, rw->opt, by);
  for (int a = 0; a < m->n_axes; a++)
    if (l.placement[a] >= 0 && !divides(v, &l, m, a, l.placement[a]))
      return refuse(v, &l, m, a, by[a] ? by[a]->loc : v->loc);
  return GR_OK;
}

// How the update of weight v is split by these options, which its own layout depends on too.
static gr_layout update_layout(const gr_rewrite *rw, const gr_value *v, const gr_options *o) {
  gr_value w = *v;
  w.layout = gr_weight_layout(&rw->old->mesh, v, o);
  return gr_update_layout(&rw->old->mesh, &w, o);
}

// Notes the weights that another optimizer would let the ranks split further.
static void note_confined(const gr_rewrite *rw) {
  gr_notes *n = rw->opt->notes;
  if (!n || !n->arena) return;
  gr_options any = *rw->opt;
  any.optimizer.name = NULL, any.optimizer.n_groups = 0;
  n->confined = GR_NEW(n->arena, const char *, rw->old->n_values);
  n->n_confined = 0;
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (!gr_is_weight(v)) continue;
    gr_layout current = update_layout(rw, v, rw->opt), could = update_layout(rw, v, &any);
    if (!gr_layout_same(&current, &could))
      n->confined[n->n_confined++] = gr_arena_strdup(n->arena, v->name);
  }
}

gr_status gr_pass_annotate_sharding(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  gr_layout *weight = GR_NEW(rw->b.g->tables, gr_layout, old->n_values);
  bool changes = false;
  note_confined(rw);
  for (uint32_t i = 1; i < old->leaves_end; i++) {
    const gr_value *v = &old->values[i];
    if (v->role != GR_STATE || (!gr_is_weight(v) && v->kind != GR_KIND_BUFFER)) continue;
    GR_TRY(check_requested(rw, v));
    if (gr_is_weight(v)) weight[i] = gr_weight_layout(&old->mesh, v, rw->opt);
    changes |= gr_is_weight(v) && !gr_layout_same(&weight[i], &v->layout);
  }
  if (!changes) return gr_keep(rw);
  for (uint32_t i = 1; i < old->leaves_end; i++) {
    const gr_value *v = &old->values[i];
    if (v->role != GR_TEMP) gr_copy_leaf(rw, i, &v->type, gr_is_weight(v) ? weight[i] : v->layout);
  }
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  return GR_OK;
}
