// lookups.c - checks that what a model looks up in tables is in them. See parts.h.
#include "compiler/plan/plan.h"
#include "job/parts.h"

// The columns of all lookups, one after the other.
static int list_all(gr_arena *a, const gr_notes *notes, const int32_t **out) {
  int n = 0;
  for (int i = 0; i < notes->n_lookups; i++) n += notes->lookups[i].n;
  int32_t *all = GR_NEW(a, int32_t, n + 1), *to = all;
  for (int i = 0; i < notes->n_lookups; i++)
    for (int k = 0; k < notes->lookups[i].n; k++) *to++ = notes->lookups[i].columns[k];
  *out = all;
  return n;
}

gr_status gr_lookups_check(gr_arena *a, const gr_run_spec *spec) {
  const gr_program *last = NULL;  // programs of one model have the same lookups
  for (uint32_t i = 0; i < spec->plan->n_programs; i++)
    if (spec->plan->programs[i].notes.n_lookups) last = &spec->plan->programs[i];
  if (!last || !spec->data) return GR_OK;
  const int32_t *all;
  int n = list_all(a, &last->notes, &all);
  for (int i = 0; i < last->notes.n_lookups; i++) {
    const gr_lookup *l = &last->notes.lookups[i];
    GR_TRY(gr_dataset_check_lookup(spec->data,
                                   &(gr_column_lookup){l->loc, l->rows, l->columns, l->n, all, n}));
  }
  return GR_OK;
}
