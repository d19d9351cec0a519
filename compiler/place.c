// place.c - how weights lie on the mesh. FSDP is a rule that splits weights over the axis of
// the data; tensor parallel is rules that split them along features. A weight whose axis
// cannot be split evenly stays whole.
#include <fnmatch.h>
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes.h"

// On a mesh without the axis (one rank, say) there is nothing to split over it.
static int axis_of(const gr_mesh *m, const gr_rule *r) {
  for (int a = 0; a < m->n_axes; a++)
    if (!strcmp(m->axis[a].name, r->axis)) return a;
  return -1;
}

static bool splits(const gr_value *v, const gr_layout *l, const gr_mesh *m, int axis, gr_lay d) {
  for (int a = 0; a < m->n_axes; a++)
    if (a != axis && l->at[a] == d) return false;
  return d < v->type.rank && v->type.dim[d] % m->axis[axis].size == 0;
}

static gr_layout layout_of(const gr_rewrite *rw, const gr_value *v) {
  const gr_mesh *m = &rw->old->mesh;
  gr_layout l = v->layout;
  if (v->role != GR_STATE || v->kind != GR_KIND_WEIGHT) return l;
  for (int i = 0; i < rw->opt->n_rules; i++) {
    const gr_rule *r = &rw->opt->rules[i];
    int axis = axis_of(m, r);
    if (axis < 0 || fnmatch(r->pattern, v->name, 0)) continue;
    if (r->lay == GR_R || (r->lay >= 0 && splits(v, &l, m, axis, r->lay))) l.at[axis] = r->lay;
  }
  return l;
}

gr_status gr_pass_place(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->n_values; i++) {
    const gr_value *v = &rw->old->values[i];
    if (v->role != GR_TEMP) gr_copy_leaf(rw, i, &v->type, layout_of(rw, v));
  }
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  return GR_OK;
}
