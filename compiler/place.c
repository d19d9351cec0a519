// place.c - how weights lie on the mesh. FSDP is a rule that splits weights over the axis of
// the data; tensor parallel is rules that split them along features. A weight whose axis
// cannot be split evenly stays whole.
#include <fnmatch.h>
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes.h"

static gr_status axis_of(const gr_mesh *m, const gr_rule *r, int *out) {
  for (*out = 0; *out < m->n_axes; ++*out)
    if (!strcmp(m->axis[*out].name, r->axis)) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                 "the layout rule for '%s' names mesh axis '%s', "
                 "which there is not",
                 r->pattern, r->axis);
}

static bool splits(const gr_value *v, const gr_layout *l, const gr_mesh *m, int axis, gr_lay d) {
  for (int a = 0; a < m->n_axes; a++)
    if (a != axis && l->at[a] == d) return false;
  return d < v->type.rank && v->type.dim[d] % m->axis[axis].size == 0;
}

static gr_status layout_of(const gr_rewrite *rw, const gr_value *v, gr_layout *l) {
  const gr_mesh *m = &rw->old->mesh;
  *l = v->layout;
  if (v->role != GR_STATE || v->kind != GR_KIND_WEIGHT) return GR_OK;
  for (int i = 0; i < rw->opt->n_rules; i++) {
    const gr_rule *r = &rw->opt->rules[i];
    int axis;
    GR_TRY(axis_of(m, r, &axis));
    if (fnmatch(r->pattern, v->name, 0)) continue;
    if (r->lay == GR_R || (r->lay >= 0 && splits(v, l, m, axis, r->lay))) l->at[axis] = r->lay;
  }
  return GR_OK;
}

gr_status gr_pass_place(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->n_values; i++) {
    const gr_value *v = &rw->old->values[i];
    gr_layout l;
    if (v->role == GR_TEMP) continue;
    GR_TRY(layout_of(rw, v, &l));
    gr_copy_leaf(rw, i, &v->type, l);
  }
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  return GR_OK;
}
