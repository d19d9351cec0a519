// initial.c - see initial.h.
#include "compiler/initial.h"
#include <string.h>
#include "compiler/plan/names.h"
#include "ops/optim/optim.h"

// As layouts of whole values are.
static gr_layout without_padding(gr_layout l) {
  memset(l.pad, 0, sizeof l.pad);
  return l;
}

// The initial value of a state that only training has: zero, or what the optimizer declares, or the
// first loss scale.
static double initial_value(gr_arena *arena, const gr_options *o, const gr_value *v) {
  if (o->precision.loss_scale && !strcmp(v->name, GR_LOSS_SCALE))
    return o->precision.loss_scale->init;
  const char *state = strrchr(v->name, '.');
  if (v->kind != GR_KIND_MOMENT || !state) return 0;
  const char *weight = gr_arena_strndup(arena, v->name, (size_t)(state - v->name));
  gr_update_rule rule = gr_update_rule_of(&o->optimizer, weight, v->type.rank);
  if (!rule.op) return 0;
  void *defaults = gr_arena_alloc(arena, rule.op->attr_size);
  gr_attr_defaults(rule.op, defaults);
  return gr_optim_initial(rule.op, rule.attr ? rule.attr : defaults, state + 1);
}

gr_map gr_initial_states(const gr_graph *init) {
  gr_map known = gr_map_make(init->arena);
  for (uint32_t i = 1; i < init->leaves_end; i++)
    if (init->values[i].role == GR_STATE) gr_map_put(&known, init->values[i].name, known.n);
  return known;
}

gr_status gr_add_training_states(gr_graph *init, gr_map *known, const gr_options *o,
                                 const gr_graph *program, const char *kind) {
  gr_builder b = {.g = init, .created_by = "init"};
  uint32_t next = 0, place;
  for (uint32_t i = 1; i < program->leaves_end && !b.err; i++) {
    const gr_value *v = &program->values[i];
    if (v->role != GR_STATE || v->kind == GR_KIND_GRAD_ACCUMULATOR ||
        gr_find_next(known, v->name, &next, &place))
      continue;
    if (v->kind == GR_KIND_WEIGHT || v->kind == GR_KIND_BUFFER)
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, v->loc, "'%s' exists only in the %s program", v->name, kind),
          "create weights and buffers in every program, also where `training` is false");
    gr_type t = gr_type_global(&v->type, &v->layout, &init->mesh);
    b.loc = v->loc;
    gr_layout l = without_padding(v->layout);
    gr_val first = gr_fill(&b, &t, initial_value(init->arena, o, v));
    gr_val s = gr_leaf(&b, GR_STATE, v->kind, v->name, t, l);
    gr_map_put(known, v->name, known->n);
    if (!b.err) gr_at(init, s)->next = first;
  }
  return b.err;
}
