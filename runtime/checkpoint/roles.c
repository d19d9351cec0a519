// roles.c - what the tensors of a checkpoint are, by lists of names in its scalars. See
// checkpoint.h.
#include <string.h>
#include "runtime/checkpoint/checkpoint.h"

// The names in a scalar of the checkpoint, a line each.
static gr_map names_in(gr_arena *a, const gr_checkpoint *c, const char *scalar) {
  gr_map out = gr_map_make(a);
  const gr_scalar *s = gr_checkpoint_scalar(c, scalar);
  const char *list = s && s->kind == GR_SCALAR_TEXT ? s->text : "";
  for (size_t n; *list; list += n + (list[n] == '\n')) {
    n = strcspn(list, "\n");
    gr_map_put(&out, gr_arena_strndup(a, list, n), 1);
  }
  return out;
}

gr_map gr_checkpoint_optimizer(gr_arena *a, const gr_checkpoint *c) {
  return names_in(a, c, GR_CHECKPOINT_OPTIMIZER);
}

gr_map gr_checkpoint_emas(gr_arena *a, const gr_checkpoint *c) {
  return names_in(a, c, GR_CHECKPOINT_EMA);
}

const char *gr_checkpoint_ema_of(gr_arena *a, const gr_map *emas, const char *weight) {
  const char *name = emas->n ? gr_arena_printf(a, "%s.ema", weight) : NULL;
  return name && gr_map_find(emas, name, NULL) ? name : NULL;
}
