// split.c - reports the layouts of weights.
#include <string.h>
#include "compiler/report/parts.h"

static const char *placement_text(gr_axis_placement d, char buf[8]) {
  snprintf(buf, 8, d >= 0 ? "S%d" : "R", d);
  return buf;
}

static bool any_split(const gr_plan *p) {
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].kind == GR_KIND_WEIGHT &&
        !gr_type_same(&p->states[i].type, &p->states[i].global))
      return true;
  return false;
}

void gr_explain_weights(FILE *f, const gr_plan *p) {
  char type[96], lay[8], b[32];
  int longest = 0;
  if (!any_split(p)) return;
  for (uint32_t i = 0; i < p->n_states; i++) {
    int n = p->states[i].kind == GR_KIND_WEIGHT ? (int)strlen(p->states[i].name) : 0;
    if (n > longest) longest = n;
  }
  fprintf(f,
          "weights     S0: split along axis 0, R: whole on every rank of that axis of the mesh\n");
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (s->kind != GR_KIND_WEIGHT) continue;
    fprintf(f, "  %-*s  %-16s", longest, s->name, gr_type_text(&s->global, type));
    for (int a = 0; a < p->mesh.n_axes; a++)
      fprintf(f, "  %s:%-2s", p->mesh.axis[a].name, placement_text(s->layout.placement[a], lay));
    fprintf(f, "  %10s on each rank\n", gr_bytes_text((double)s->bytes, b));
  }
}
