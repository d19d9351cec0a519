// common.c - what the sections of the plan report have in common: quantities in words, and which
// programs they are about. See parts.h.
#include <string.h>
#include "compiler/report/parts.h"

static bool is_of_kind(const gr_program *p, const char *kind) { return !strcmp(p->kind, kind); }

const char *gr_plan_kind(const gr_plan *p, int i) {
  for (uint32_t k = 0; k < p->n_programs; k++) {
    const char *kind = p->programs[k].kind;
    bool known = !strcmp(kind, "init");
    for (uint32_t j = 0; j < k && !known; j++) known = is_of_kind(&p->programs[j], kind);
    if (!known && !i--) return kind;
  }
  return NULL;
}

const gr_program *gr_plan_largest(const gr_plan *p, const char *kind) {
  const gr_program *most = NULL;
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (is_of_kind(&p->programs[i], kind) &&
        (!most || p->programs[i].frame.bytes > most->frame.bytes))
      most = &p->programs[i];
  return most;
}

// A body's values outside of the arena have no place that the plan knows.
bool gr_plan_is_copied_in_place(const gr_plan_frame *f, uint32_t source, size_t source_byte,
                                uint32_t target, size_t target_byte) {
  if (f->stacked &&
      (gr_at(f->g, (gr_val){source})->role != GR_TEMP || f->stacked[source] || f->stacked[target]))
    return false;
  return f->in_states[source] == f->in_states[target] &&
         f->offset[source] + source_byte == f->offset[target] + target_byte;
}

void gr_put_place(FILE *f, const gr_node *n) {
  if (n->scope) fprintf(f, " in %s", n->scope);
  if (n->loc.file) fprintf(f, ", %s:%d:%d", n->loc.file, n->loc.line, n->loc.col);
}
