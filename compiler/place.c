// place.c - how weights lie on the mesh. FSDP is a rule that splits weights over the axis of
// the data; tensor parallel is rules that split them along features.
//
// A rule of tensor parallel names a dimension, and ops compute with the slices: a weight that the
// ranks cannot split evenly stays whole. FSDP's slices are put together before they are used, so
// any dimension will do, and slices may be padded (ir/graph.h): then a rank holds 1/N of nearly
// all weights for any number N of ranks. Weights of few bytes may stay whole (units.h says why).
#include <fnmatch.h>
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes.h"

// On a mesh without the axis (one rank, say) there is nothing to split over it.
static int axis_of(const gr_mesh *m, const char *name) {
  for (int a = 0; name && a < m->n_axes; a++)
    if (!strcmp(m->axis[a].name, name)) return a;
  return -1;
}

static bool taken(const gr_layout *l, const gr_mesh *m, int axis, gr_lay d) {
  for (int a = 0; a < m->n_axes; a++)
    if (a != axis && l->at[a] == d) return true;
  return false;
}

static bool divides(const gr_value *v, const gr_layout *l, const gr_mesh *m, int axis, gr_lay d) {
  return d < v->type.rank && !taken(l, m, axis, d) && v->type.dim[d] % m->axis[axis].size == 0;
}

// The dimension that leaves a rank the least, the first of several: one that the ranks divide, if
// there is one. GR_R: none leaves less than the whole.
static gr_lay any_dim(const gr_value *v, gr_layout l, const gr_mesh *m, int axis) {
  gr_lay best = GR_R;
  l.at[axis] = GR_R;
  gr_type whole = gr_type_local(&v->type, &l, m);
  int64_t least = gr_type_count(&whole);
  for (gr_lay d = 0; d < v->type.rank; d++) {
    if (taken(&l, m, axis, d)) continue;
    l.at[axis] = d;
    gr_type local = gr_type_local(&v->type, &l, m);
    if (gr_type_count(&local) < least) least = gr_type_count(&local), best = d;
  }
  return best;
}

static bool is_small(const gr_value *v, const gr_options *o) {
  return gr_type_bytes(&v->type) < o->whole_below;
}

gr_layout gr_weight_layout(const gr_mesh *m, const gr_value *v, const gr_options *o) {
  gr_layout l = v->layout;
  for (int i = 0; i < o->n_rules; i++) {
    const gr_rule *r = &o->rules[i];
    int axis = axis_of(m, r->axis);
    if (axis < 0 || fnmatch(r->pattern, v->name, 0)) continue;
    if (r->lay == GR_R || (r->lay >= 0 && divides(v, &l, m, axis, r->lay))) l.at[axis] = r->lay;
    if (r->lay == GR_ANY_DIM && !is_small(v, o)) l.at[axis] = any_dim(v, l, m, axis);
  }
  return l;
}

gr_layout gr_update_layout(const gr_mesh *m, const gr_value *w, const gr_options *o) {
  gr_layout l = w->layout;
  int axis = axis_of(m, o->zero_axis);
  if (axis >= 0 && l.at[axis] == GR_R && !is_small(w, o)) l.at[axis] = any_dim(w, l, m, axis);
  return l;
}

gr_status gr_pass_place(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->n_values; i++) {
    const gr_value *v = &rw->old->values[i];
    bool weight = v->role == GR_STATE && v->kind == GR_KIND_WEIGHT;
    gr_layout l = weight ? gr_weight_layout(&rw->old->mesh, v, rw->opt) : v->layout;
    if (v->role != GR_TEMP) gr_copy_leaf(rw, i, &v->type, l);
  }
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  return GR_OK;
}
