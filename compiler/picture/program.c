// program.c - from a plan to a picture: which program is drawn, and in what steps.
#include <fnmatch.h>
#include "compiler/picture/parts.h"
#include "compiler/picture/picture.h"

enum { NAMED = 12 };  // blocks that an error names

static const gr_program *drawn_program(const gr_plan *p) {
  const gr_program *found = NULL;
  for (int trains = 1; trains >= 0 && !found; trains--)
    for (uint32_t i = 0; i < p->n_programs; i++) {
      const gr_program *q = &p->programs[i];
      if (q->trains == trains && (!found || q->frame.bytes > found->frame.bytes)) found = q;
    }
  return found;
}

static bool matches_any(const gr_picture *p, const char *pattern) {
  for (uint32_t i = 1; i < p->n_blocks; i++)
    if (!p->block[i].is_run && !fnmatch(pattern, p->block[i].path, 0)) return true;
  return false;
}

static gr_status check_patterns(const gr_picture *p) {
  for (int i = 0; i < p->request->n_expand; i++) {
    if (matches_any(p, p->request->expand[i])) continue;
    gr_text names = gr_text_make(p->arena);
    int named = 0;
    for (uint32_t b = 1; b < p->n_blocks && named < NAMED; b++)
      if (!p->block[b].is_run && gr_picture_is_drawn(p, b))
        gr_text_printf(&names, "%s%s", named++ ? ", " : "", p->block[b].path);
    gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--expand: no block of the model matches '%s'",
                          p->request->expand[i]);
    return gr_hint(s, named ? "blocks are %s%s" : "the model has no blocks, only ops%s%s",
                   names.chars, named == NAMED ? ", ..." : "");
  }
  return GR_OK;
}

gr_status gr_plan_picture(gr_text *t, const gr_plan *plan, const gr_picture_request *request) {
  gr_arena *arena = gr_arena_create();
  gr_picture p = {.arena = arena, .plan = plan, .request = request, .program = drawn_program(plan)};
  gr_picture_read_ops(&p);
  gr_picture_read_blocks(&p);
  gr_status s = check_patterns(&p);
  if (!s) {
    gr_picture_choose_rows(&p);
    gr_picture_write(t, &p);
  }
  return gr_arena_end(arena, s);
}
