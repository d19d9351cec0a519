// plan.c - what is asked of a plan.
#include "compiler/plan/plan.h"
#include <string.h>

const gr_program *gr_plan_find(const gr_plan *p, const char *kind, const char *bucket) {
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (!strcmp(p->programs[i].kind, kind) && !strcmp(p->programs[i].bucket, bucket))
      return &p->programs[i];
  return NULL;
}

int64_t gr_plan_parameters(const gr_plan *p) {
  int64_t n = 0;
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].trained) n += gr_type_count(&p->states[i].global);
  return n;
}
