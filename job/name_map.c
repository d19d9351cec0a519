// name_map.c - see name_map.h.
#include "job/name_map.h"
#include <string.h>
#include "base/text.h"

static gr_status names_wrong(const gr_conf *c, const char *what, const char *expected) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "%s must be %s, found %s", what, expected,
                         gr_conf_a_kind(c->kind)),
                 "as in [{\"encoder.*\": \"backbone.*\"}, {\"fc.*\": null}]");
}

static int stars(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '*';
  return n;
}

static gr_status same_stars(const gr_pattern *p, const char *to) {
  if (stars(p->text) == stars(to)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, p->loc,
                         "'%s' has %d `*`, and its new name '%s' has %d: there must be as many",
                         p->text, stars(p->text), to, stars(to)),
                 "each `*` of the new name is what the same `*` of the old one matches");
}

static gr_status read_parts(gr_arena *a, const gr_conf *list, const char *what, gr_pattern *out) {
  const char **parts = GR_NEW(a, const char *, list->n + 1);
  for (int i = 0; i < list->n; i++) {
    if (list->items[i]->kind != GR_CONF_TEXT)
      return names_wrong(list->items[i], what,
                         "a list of mappings from old names to lists of names");
    parts[i] = list->items[i]->text;
    GR_TRY(same_stars(out, parts[i]));
  }
  out->parts = parts, out->n_parts = list->n;
  if (list->n > 1) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, list->loc, "'%s' is split into %d part%s", out->text,
                         list->n, gr_text_s(list->n)),
                 "a list has the names of two or more equal parts along the first axis, as in "
                 "{\"*.in_proj_weight\": [\"*.q.weight\", \"*.k.weight\", \"*.v.weight\"]}");
}

static gr_status read_one(gr_arena *a, const gr_conf *map, int i, const char *what,
                          gr_pattern *out) {
  static const char expected[] =
      "a list of mappings from old names to new ones, to lists of them, or to null";
  const gr_conf *to = map->items[i];
  if (to->kind != GR_CONF_TEXT && to->kind != GR_CONF_NULL && to->kind != GR_CONF_LIST)
    return names_wrong(to, what, expected);
  *out = (gr_pattern){.text = map->keys[i], .loc = gr_conf_place(to)};
  if (to->kind == GR_CONF_NULL) return GR_OK;
  if (to->kind == GR_CONF_LIST) return read_parts(a, to, what, out);
  out->to = to->text;
  return same_stars(out, out->to);
}

gr_status gr_name_map_read_list(gr_arena *a, const gr_conf *list, const char *what,
                                gr_pattern **out, int *n) {
  static const char expected[] = "a list of mappings from old to new names";
  int most = 0;
  if (list->kind != GR_CONF_LIST) return names_wrong(list, what, expected);
  for (int i = 0; i < list->n; i++) {
    if (list->items[i]->kind != GR_CONF_MAP) return names_wrong(list->items[i], what, expected);
    most += list->items[i]->n;
  }
  *out = GR_NEW(a, gr_pattern, most + 1);
  for (int i = 0; i < list->n; i++)
    for (int k = 0; k < list->items[i]->n; k++)
      GR_TRY(read_one(a, list->items[i], k, what, &(*out)[(*n)++]));
  return GR_OK;
}

gr_status gr_name_map_read(gr_arena *a, const char *path, gr_name_map *out) {
  static const char hint[] =
      "a file of names has `names:`, a list of mappings, and may have `config:`, a mapping";
  gr_conf *root = NULL;
  *out = (gr_name_map){0};
  GR_TRY(gr_conf_read(a, path, &root));
  gr_conf *names = root->kind == GR_CONF_MAP ? gr_conf_member(root, "names") : NULL;
  if (!names) return gr_hint(gr_fail(GR_ERR_CONFIG, root->loc, "'%s' has no `names:`", path), hint);
  out->config = gr_conf_member(root, "config");
  if (out->config && out->config->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, out->config->loc, "`config:` must be a mapping, found %s",
                           gr_conf_a_kind(out->config->kind)),
                   hint);
  for (int i = 0; i < root->n; i++)
    if (strcmp(root->keys[i], "names") != 0 && strcmp(root->keys[i], "config") != 0)
      return gr_hint(gr_fail(GR_ERR_CONFIG, root->items[i]->key_loc, "a file of names has no '%s'",
                             root->keys[i]),
                     hint);
  return gr_name_map_read_list(a, names, "`names`", &out->items, &out->n);
}
