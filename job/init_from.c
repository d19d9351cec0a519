// init_from.c - see parts.h.
#include <string.h>
#include "base/text.h"
#include "job/name_map.h"
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
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "an entry of model.init_from has no '%s'", name);
  return gr_hint(gr_hint_near(s, name, keys, KEYS),
                 "it has from, rename, allow_missing and allow_unused");
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

static gr_status read_renames(gr_arena *a, gr_conf *item, gr_init_entry *e) {
  gr_conf *list = gr_conf_member(item, "rename");
  if (!list || list->kind == GR_CONF_NULL) return GR_OK;
  if (list->kind != GR_CONF_TEXT)
    return gr_name_map_read_list(a, list, "'rename' of model.init_from", &e->rename, &e->n_rename);
  gr_name_map names;
  GR_TRY(gr_note(gr_name_map_read(a, list->text, &names), list->loc,
                 "model.init_from names the file"));
  e->rename = names.items, e->n_rename = names.n, e->shares_names = true;
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
