// plan.c - queries of a plan.
#include "compiler/plan/plan.h"
#include <string.h>

const char *const gr_carry_updates[GR_CARRY_COUNT] = {
    [GR_CARRY_UNCHANGED] = "unchanged", [GR_CARRY_IN_STACK] = "read in its stack",
    [GR_CARRY_IN_PLACE] = "in place",   [GR_CARRY_DOUBLE_BUFFERED] = "double-buffered",
    [GR_CARRY_COPIED] = "copied",
};

const gr_program *gr_plan_find(const gr_plan *p, const char *kind, const char *bucket) {
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (!strcmp(p->programs[i].kind, kind) && !strcmp(p->programs[i].bucket, bucket))
      return &p->programs[i];
  return NULL;
}

const char *gr_frozen_kind(gr_arena *a, const char *name, const char *const *freezable, int n,
                           unsigned frozen) {
  const char *list = "";
  if (!frozen) return name;
  for (int i = 0; i < n; i++)
    if (frozen >> i & 1) list = gr_arena_printf(a, "%s%s%s", list, *list ? ", " : "", freezable[i]);
  return gr_arena_printf(a, "%s.frozen(%s)", name, list);
}

int64_t gr_plan_parameters(const gr_plan *p, int64_t *trained) {
  int64_t n = 0;
  *trained = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (s->trained) *trained += gr_type_count(&s->global);
    if (s->kind == GR_KIND_WEIGHT) n += gr_type_count(&s->global);
  }
  return n;
}

bool gr_is_of_teacher(const char *name) {
  static const char prefix[] = "teacher";
  size_t n = sizeof prefix - 1;
  return !strncmp(name, prefix, n) && (name[n] == '.' || !name[n]);
}
