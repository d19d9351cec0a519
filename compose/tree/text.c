// text.c - a configuration from a text that has no file. See conf.h.
#include "compose/tree/conf.h"

static void place_at(gr_conf *c, gr_loc loc) {
  c->loc = c->key_loc = loc;
  for (int i = 0; i < c->n && c->items; i++) place_at(c->items[i], loc);
}

gr_status gr_conf_from_text(gr_arena *a, const char *file, const char *text, gr_loc loc,
                            gr_conf **out) {
  gr_conf *c = NULL, *map = gr_conf_make(a, GR_CONF_MAP, loc);
  *out = map;
  GR_TRY(gr_conf_parse(a, file, text, &c));
  if (gr_conf_is_number(c))
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "a configuration must be a mapping, but this is %s",
                           gr_conf_a_kind(c->kind)),
                   "write one 'key: value' per line");
  if (c->kind >= GR_CONF_MAP) *out = c;
  if (c->kind >= GR_CONF_TEXT && c->kind < GR_CONF_MAP)
    gr_conf_put(a, map, c->text, gr_conf_make(a, GR_CONF_NULL, loc));
  place_at(*out, loc);
  return GR_OK;
}
