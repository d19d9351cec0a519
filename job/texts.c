// texts.c - see parts.h.
#include "job/parts.h"

void gr_texts_add(gr_arena *a, const gr_conf *c, gr_texts *out) {
  const gr_conf *const *items = c->kind == GR_CONF_LIST ? (const gr_conf *const *)c->items : &c;
  int n = c->kind == GR_CONF_LIST ? c->n : 1;
  const char **text = GR_NEW(a, const char *, out->n + n + 1);
  gr_loc *loc = GR_NEW(a, gr_loc, out->n + n + 1);
  for (int i = 0; i < out->n; i++) text[i] = out->text[i], loc[i] = out->loc[i];
  for (int i = 0; i < n; i++) text[out->n + i] = items[i]->text, loc[out->n + i] = items[i]->loc;
  *out = (gr_texts){text, loc, out->n + n};
}
