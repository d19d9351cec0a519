// source.c - what sources have in common: their keys and the endings of their files. See source.h.
#include "runtime/data/source.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const gr_source_ops *gr_source_named(const char *name) {
  const gr_source_ops *const *s = gr_data_sources;
  while (*s && strcmp((*s)->name, name)) s++;
  return *s;
}

const gr_source_ending *gr_source_reads(const gr_source_ops *ops, const char *path) {
  size_t n = strlen(path), m;
  for (const gr_source_ending *e = ops->endings; e->ending; e++)
    if (n >= (m = strlen(e->ending)) && !strcasecmp(path + n - m, e->ending)) return e;
  return NULL;
}

const gr_source_ops *gr_source_of_file(const char *path, const gr_source_ending **ending) {
  for (const gr_source_ops *const *ops = gr_data_sources; *ops; ops++) {
    const gr_source_ending *e = gr_source_reads(*ops, path);
    if (!e || !e->what) continue;
    if (ending) *ending = e;
    return *ops;
  }
  return NULL;
}

void gr_source_put_endings(const gr_source_ops *ops, const char *last, gr_text *out) {
  for (const gr_source_ending *e = ops->endings; e->ending; e++) {
    bool first = e == ops->endings;
    gr_text_printf(out, "%s%s", first ? "" : e[1].ending ? ", " : last, e->ending);
  }
}

gr_status gr_source_need_path(const gr_source_request *r, bool given) {
  const gr_source_ops *ops = r->ops;
  if (given || r->predicts) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.%s.%s is not given", ops->name,
                                  ops->path_key),
                          ops->path_key),
                 "%s", ops->path_hint);
}

static bool is_usual(const gr_conf *c, const char *usual) {
  if (c->is_default || c->kind == GR_CONF_NULL) return true;
  if (c->kind == GR_CONF_LIST) return !c->n;
  if (c->kind == GR_CONF_INT) return usual && strtoll(usual, NULL, 10) == c->integer;
  return c->kind == GR_CONF_TEXT && usual && !strcmp(c->text, usual);
}

gr_status gr_source_refuse(gr_conf *section, const gr_source_unused *u) {
  gr_conf *c = gr_conf_find(section, u->key);
  if (!c) return GR_OK;
  gr_conf_mark(c);
  if (is_usual(c, u->usual)) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_status s = gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "'%s' has no effect: %s",
                                gr_conf_path(a, c), u->why),
                        "%s", u->hint);
  gr_arena_destroy(a);
  return s;
}

gr_status gr_source_read_size(gr_conf *section, const char *key, int64_t *height, int64_t *width) {
  const gr_conf *size = gr_conf_find(section, key);
  char item[64];
  *height = *width = 0;
  if (size->kind == GR_CONF_INT) *height = *width = size->integer;
  for (int i = 0; size->kind == GR_CONF_LIST && i < 2; i++) {
    snprintf(item, sizeof item, "%s[%d]", key, i);
    GR_TRY(gr_conf_int(section, item, 0, i ? width : height));
  }
  return GR_OK;
}

gr_status gr_source_read_int(gr_conf *section, const char *key, int *out) {
  int64_t v;
  GR_TRY(gr_conf_int(section, key, 0, &v));
  *out = (int)v;
  return gr_range(key, v, INT_MIN, INT_MAX);
}
