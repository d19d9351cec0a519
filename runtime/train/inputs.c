// inputs.c - see inputs.h.
#include "runtime/train/inputs.h"
#include <string.h>

static gr_status bind_field(const gr_value *v, const gr_batch *shapes, int *out) {
  char want[96], got[96];
  for (int i = 0; shapes && i < shapes->n_fields; i++) {
    const gr_field *f = &shapes->field[i];
    if (strcmp(f->name, v->name)) continue;
    *out = i;
    if (gr_type_same(&f->type, &v->type)) return GR_OK;
    return gr_fail(GR_ERR_TYPE, v->loc, "the input '%s' of a rank is %s, the data gives %s",
                   v->name, gr_type_text(&v->type, want), gr_type_text(&f->type, got));
  }
  return gr_hint(gr_fail(GR_ERR_CONFIG, v->loc, "nothing fills the input '%s'", v->name),
                 "the data gives no tensor of that name");
}

typedef struct sources {
  const gr_batch *shapes;
  const gr_adjustable *adjust;
  int n_adjust;
} sources;

static bool bind_adjustable(const gr_value *v, const sources *available, gr_program_input *out) {
  for (int i = 0; i < available->n_adjust; i++) {
    if (strcmp(available->adjust[i].input, v->name)) continue;
    out->field = GR_INPUT_SET - i;
    return true;
  }
  return false;
}

static gr_status bind_one(const gr_program *p, const gr_value *v, const sources *available,
                          gr_program_input *out) {
  *out = (gr_program_input){.name = v->name, .type = v->type, .field = GR_INPUT_SUM};
  if (!strcmp(p->kind, "report")) return GR_OK;
  if (!strcmp(v->name, "lr"))
    out->field = GR_INPUT_LR;
  else if (!strcmp(v->name, "micro"))
    out->field = GR_INPUT_MICRO;
  else if (!bind_adjustable(v, available, out))
    return bind_field(v, available->shapes, &out->field);
  return v->type.rank ? gr_fail(GR_ERR_BUG, v->loc, "'%s' is no scalar", v->name) : GR_OK;
}

gr_status gr_program_inputs_bind(gr_arena *arena, const gr_program *p, const gr_batch *shapes,
                                 const gr_adjustable *adjust, int n_adjust,
                                 gr_program_inputs *out) {
  const sources available = {shapes, adjust, n_adjust};
  const gr_graph *g = p->frame.g;
  out->n = 0;
  for (uint32_t i = 1; i < g->n_values; i++) out->n += g->values[i].role == GR_INPUT;
  out->items = GR_NEW(arena, gr_program_input, out->n + 1);
  for (uint32_t i = 1, k = 0; i < g->n_values; i++)
    if (g->values[i].role == GR_INPUT)
      GR_TRY(gr_note(bind_one(p, &g->values[i], &available, &out->items[k++]), GR_NOWHERE,
                     "in the program %s", p->name));
  return GR_OK;
}
