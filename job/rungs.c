// rungs.c - reads training.stop_unless.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "job/parts.h"

static const char KEY[] = "training.stop_unless";
enum { MAX_EPOCHS = 1000000000 };

static gr_status read_rung(const char *epochs, const gr_conf *v, gr_rung *out) {
  char *end;
  out->epochs = strtoll(epochs, &end, 10);
  if (*end || end == epochs || out->epochs < 1 || out->epochs > MAX_EPOCHS)
    return gr_fail(GR_ERR_CONFIG, v->loc,
                   "%s: a number of epochs from 1 to %d was expected before the ':', found '%s'",
                   KEY, MAX_EPOCHS, epochs);
  out->value = v->kind == GR_CONF_FLOAT ? v->number : (double)v->integer;
  if ((v->kind == GR_CONF_FLOAT || v->kind == GR_CONF_INT) && isfinite(out->value)) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, v->loc, "%s: the value after %s epochs must be a finite number",
                 KEY, epochs);
}

gr_status gr_rungs_read(gr_arena *a, gr_conf *root, gr_loop_settings *s) {
  gr_conf *map = gr_conf_find(root, KEY);
  const gr_conf *metric = gr_conf_find(root, "checkpoint.metric");
  gr_conf_mark(map);
  if (map->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, "%s must be a map, found a %s", KEY,
                           gr_conf_kind_name(map->kind)),
                   "as in {3: 1.2, 9: 0.8}: the worst values after 3 and after 9 epochs");
  s->rungs = GR_NEW(a, gr_rung, map->n + 1);
  for (; s->n_rungs < map->n; s->n_rungs++)
    GR_TRY(read_rung(map->keys[s->n_rungs], map->items[s->n_rungs], &s->rungs[s->n_rungs]));
  if (!map->n || s->eval_every || (metric->text && strchr(metric->text, '.'))) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc,
                         "%s compares evaluations, and training.eval_every=0 makes none before "
                         "the end",
                         KEY),
                 "set training.eval_every to a number of epochs");
}
