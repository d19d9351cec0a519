// text.c - a configuration from a text that has no file. See conf.h.
#include "compose/tree/conf.h"

static void place_at(gr_conf *c, gr_loc at) {
  c->loc = c->key_loc = at;
  for (int i = 0; i < c->n && c->items; i++) place_at(c->items[i], at);
}

gr_status gr_conf_from_text(gr_arena *a, const char *file, const char *text, gr_loc at,
                            gr_conf **out) {
  gr_conf *c = NULL, *map = gr_conf_make(a, GR_CONF_MAP, at);
  *out = map;
  GR_TRY(gr_conf_parse(a, file, text, &c));
  if (c->kind == GR_CONF_BOOL || c->kind == GR_CONF_INT || c->kind == GR_CONF_FLOAT)
    return gr_hint(gr_fail(GR_ERR_CONFIG, at, "a configuration must be a mapping, but this is %s",
                           gr_conf_a_kind(c->kind)),
                   "write one 'key: value' per line");
  if (c->kind >= GR_CONF_MAP) *out = c;
  if (c->kind >= GR_CONF_TEXT && c->kind < GR_CONF_MAP)
    gr_conf_put(a, map, c->text, gr_conf_make(a, GR_CONF_NULL, at));
  place_at(*out, at);
  return GR_OK;
}
