// lookups.c - checks that what a model looks up in tables is in them. See parts.h.
#include "compiler/plan/plan.h"
#include "job/parts.h"

// The columns of all lookups of a program, one after the other.
static int list_all(gr_arena *a, const gr_notes *notes, const int32_t **out) {
  int n = 0;
  for (int i = 0; i < notes->n_lookups; i++) n += notes->lookups[i].n;
  int32_t *all = GR_NEW(a, int32_t, n + 1), *to = all;
  for (int i = 0; i < notes->n_lookups; i++)
    for (int k = 0; k < notes->lookups[i].n; k++) *to++ = notes->lookups[i].columns[k];
  *out = all;
  return n;
}

static gr_status check_program(gr_arena *a, const gr_dataset *d, const gr_notes *notes) {
  const int32_t *all;
  int n = list_all(a, notes, &all);
  for (int i = 0; i < notes->n_lookups; i++) {
    const gr_lookup *l = &notes->lookups[i];
    GR_TRY(
        gr_dataset_check_lookup(d, &(gr_column_lookup){l->loc, l->rows, l->columns, l->n, all, n}));
  }
  return GR_OK;
}

gr_status gr_lookups_check(gr_arena *a, const gr_run_spec *spec) {
  for (uint32_t i = 0; i < spec->plan->n_programs && spec->data; i++)
    GR_TRY(check_program(a, spec->data, &spec->plan->programs[i].notes));
  return GR_OK;
}
