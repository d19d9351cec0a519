// alias.c - keys that have two names: whatever is merged last sets both, so that a file or an
// argument overrides what an earlier one gives under the other name. See schema.h.
#include <string.h>
#include "compose/schema/schema.h"

typedef struct member {
  gr_conf *map;  // NULL: it is not there
  const char *key;
  gr_conf *value;
} member;

// The member at a path; marks nothing as read.
static member find(gr_arena *a, gr_conf *map, const char *path) {
  for (;; path = strchr(path, '.') + 1) {
    size_t n = strcspn(path, ".");
    const char *key = gr_arena_strndup(a, path, n);
    int index = map->kind == GR_CONF_MAP ? gr_conf_index(map, key) : -1;
    if (index < 0) return (member){0};
    if (!path[n]) return (member){map, key, map->items[index]};
    map = map->items[index];
  }
}

static gr_status given_twice(gr_arena *a, const gr_schema_key *k, const member *x,
                             const member *y) {
  if (gr_conf_same(a, x->value, y->value)) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, x->value->key_loc,
                        "'%s' and '%s' are two names of one key, and have different values",
                        k->path, k->alias_of);
  return gr_hint(gr_note(s, y->value->key_loc, "the other is set here"), "keep one of them");
}

// An interpolation may be relative to its own place, so the other name refers to it.
static void copy(gr_arena *a, const member *source, const char *from_path, member *target) {
  gr_conf *value = gr_conf_copy(a, source->value);
  if (value->kind == GR_CONF_INTERP)
    gr_conf_set_text(value, gr_arena_printf(a, "${%s}", from_path));
  value->key_loc = source->value->key_loc;
  gr_conf_put(a, target->map, target->key, value);
  target->value = value;
}

static gr_status share(gr_arena *a, gr_conf *root, const gr_schema_key *k, const gr_conf **seen) {
  member x = find(a, root, k->path), y = find(a, root, k->alias_of);
  bool null_is_none = *k->default_value != 0;  // GR_ALIAS
  if (x.value && x.value->kind == GR_CONF_NULL && null_is_none) x = (member){0};
  bool x_new = x.value != seen[0], y_new = y.value != seen[1];
  gr_status s = GR_OK;
  if (x.value && y.value) {
    bool x_left = x.value->kind == GR_CONF_MISSING, y_left = y.value->kind == GR_CONF_MISSING;
    if (x_new && y_new && !x_left && !y_left) s = given_twice(a, k, &x, &y);
    if (x_left ? !y_left : y_new && !y_left)
      copy(a, &y, k->alias_of, &x);
    else if (y_left ? !x_left : x_new)
      copy(a, &x, k->path, &y);
  }
  seen[0] = x.value, seen[1] = y.value;
  return s;
}

const gr_conf **gr_schema_aliases(gr_arena *a) {
  return GR_NEW(a, const gr_conf *, 2 * gr_schema_count);
}

gr_status gr_schema_share(gr_arena *a, gr_conf *root, const gr_conf **seen) {
  gr_status all = GR_OK;
  for (int round = 0; round < 2; round++)  // a key may have several other names
    for (int i = 0; i < gr_schema_count; i++)
      if (gr_schema_keys[i].alias_of)
        all = gr_also(all, share(a, root, &gr_schema_keys[i], seen + 2 * i));
  return all;
}

static void rename_one(gr_conf *c, const char *from_path, const char *to_path) {
  gr_conf *source = gr_conf_find(c, from_path), *target = gr_conf_find(c, to_path);
  if (!source || !target || source->kind == GR_CONF_NULL) return;
  gr_conf replaced = *target;
  *target = *source;
  target->key_loc = replaced.key_loc, target->up = replaced.up;
  for (int i = 0; i < target->n && target->items; i++) target->items[i]->up = target;
}

void gr_schema_rename(gr_conf *root) {
  for (int i = 0; i < gr_schema_count; i++)
    if (gr_schema_keys[i].alias_of)
      rename_one(root, gr_schema_keys[i].path, gr_schema_keys[i].alias_of);
}
