// init_from.c - see parts.h.
#include <string.h>
#include "base/text.h"
#include "job/parts.h"

static const char *const keys[] = {"from", "rename", "allow_missing", "allow_unused"};
enum { KEYS = sizeof keys / sizeof *keys };

static const char example[] =
    "as in [{from: weights.safetensors, rename: [{\"encoder.*\": \"backbone.*\"}], allow_missing: "
    "[\"head.*\"], allow_unused: []}]";

static gr_status wrong(const gr_conf *c, const char *key, const char *expected) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of model.init_from must be %s, found %s", key,
                         expected, gr_conf_a_kind(c->kind)),
                 "%s", example);
}

static gr_status unknown_key(const gr_conf *c, const char *name) {
  gr_status s = gr_fail(GR_ERR_CONFIG, c->key_loc.file ? c->key_loc : c->loc,
                        "an entry of model.init_from has no '%s'", name);
  const char *near = gr_text_nearest(name, keys, KEYS);
  if (near) s = gr_hint(s, "did you mean '%s'?", near);
  return gr_hint(s, "it has from, rename, allow_missing and allow_unused");
}

static gr_status read_patterns(gr_arena *a, gr_conf *item, const char *key, gr_pattern **out,
                               int *n) {
  gr_conf *list = gr_conf_member(item, key);
  if (!list || list->kind == GR_CONF_NULL) return GR_OK;
  if (list->kind != GR_CONF_LIST) return wrong(list, key, "a list of patterns");
  *out = GR_NEW(a, gr_pattern, list->n + 1);
  for (; *n < list->n; ++*n) {
    gr_conf *c = list->items[*n];
    if (c->kind != GR_CONF_TEXT) return wrong(c, key, "a list of patterns");
    (*out)[*n] = (gr_pattern){.text = c->text, .loc = c->loc};
  }
  return GR_OK;
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

static gr_status read_parts(gr_arena *a, const gr_conf *list, gr_pattern *out) {
  const char **parts = GR_NEW(a, const char *, list->n + 1);
  for (int i = 0; i < list->n; i++) {
    if (list->items[i]->kind != GR_CONF_TEXT)
      return wrong(list->items[i], "rename", "a list of mappings from old names to lists of names");
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

static gr_status read_rename(gr_arena *a, const gr_conf *map, int i, gr_pattern *out) {
  static const char expected[] =
      "a list of mappings from old names to new ones, to lists of them, or to null";
  const gr_conf *to = map->items[i];
  if (to->kind != GR_CONF_TEXT && to->kind != GR_CONF_NULL && to->kind != GR_CONF_LIST)
    return wrong(to, "rename", expected);
  *out = (gr_pattern){.text = map->keys[i], .loc = to->key_loc.file ? to->key_loc : to->loc};
  if (to->kind == GR_CONF_NULL) return GR_OK;
  if (to->kind == GR_CONF_LIST) return read_parts(a, to, out);
  out->to = to->text;
  return same_stars(out, out->to);
}

static gr_status read_renames(gr_arena *a, gr_conf *item, gr_init_entry *e) {
  static const char expected[] = "a list of mappings from old to new names";
  gr_conf *list = gr_conf_member(item, "rename");
  int most = 0;
  if (!list || list->kind == GR_CONF_NULL) return GR_OK;
  if (list->kind != GR_CONF_LIST) return wrong(list, "rename", expected);
  for (int i = 0; i < list->n; i++) {
    if (list->items[i]->kind != GR_CONF_MAP) return wrong(list->items[i], "rename", expected);
    most += list->items[i]->n;
  }
  e->rename = GR_NEW(a, gr_pattern, most + 1);
  for (int i = 0; i < list->n; i++)
    for (int k = 0; k < list->items[i]->n; k++)
      GR_TRY(read_rename(a, list->items[i], k, &e->rename[e->n_rename++]));
  return GR_OK;
}

static gr_status read_entry(gr_arena *a, gr_conf *item, gr_init_entry *e) {
  gr_conf *source = item->kind == GR_CONF_MAP ? gr_conf_member(item, "from") : NULL;
  if (!source || source->kind != GR_CONF_TEXT || !*source->text)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc,
                           "an entry of model.init_from needs 'from', the path of weights"),
                   "%s", example);
  gr_status all = GR_OK;
  for (int i = 0; i < item->n; i++) {
    int k = 0;
    while (k < KEYS && strcmp(keys[k], item->keys[i])) k++;
    if (k == KEYS) all = gr_also(all, unknown_key(item->items[i], item->keys[i]));
  }
  e->path = source->text, e->loc = source->loc;
  all = gr_also(all, read_renames(a, item, e));
  all =
      gr_also(all, read_patterns(a, item, "allow_missing", &e->allow_missing, &e->n_allow_missing));
  return gr_also(all, read_patterns(a, item, "allow_unused", &e->allow_unused, &e->n_allow_unused));
}

gr_status gr_init_from_read(gr_arena *a, gr_conf *root, const char *key, gr_init_entry **out,
                            int *n) {
  gr_conf *c = gr_conf_find(root, key);
  if (!c || c->kind == GR_CONF_NULL) return GR_OK;
  gr_conf_mark(c);
  if (c->kind == GR_CONF_TEXT) {
    *out = GR_NEW(a, gr_init_entry, 1), *n = 1;
    **out = (gr_init_entry){.path = c->text, .loc = c->loc, .ignores_unused = true};
    return GR_OK;
  }
  gr_status all = GR_OK;
  *out = GR_NEW(a, gr_init_entry, c->n + 1);
  for (; *n < c->n; ++*n) all = gr_also(all, read_entry(a, c->items[*n], &(*out)[*n]));
  return all;
}
