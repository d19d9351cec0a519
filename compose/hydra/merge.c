// merge.c - merges maps, and applies overrides to a tree. See merge.h.
#include "compose/hydra/merge.h"
#include <string.h>
#include "compose/schema/schema.h"

static bool collection(const gr_conf *c) {
  return c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST;
}

static gr_conf *wrap(gr_arena *a, const char *package, gr_conf *value) {
  gr_conf *map = gr_conf_make(a, GR_CONF_MAP, value->loc);
  size_t n = strcspn(package, ".");
  gr_conf *inner = package[n] ? wrap(a, package + n + 1, value) : value;
  inner->key_loc = value->loc;
  gr_conf_add(a, map, gr_arena_strndup(a, package, n), inner);
  return map;
}

gr_conf *gr_merge_wrap(gr_arena *a, const char *package, gr_conf *value) {
  return *package ? wrap(a, package, value) : value;
}

static gr_status clash(gr_resolver *r, const gr_conf *to, const gr_conf *from) {
  gr_loc at = from->key_loc.file ? from->key_loc : from->loc;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, at, "'%s' is a %s here, but a %s before", gr_conf_path(r->arena, to),
              gr_conf_kind_name(from->kind), gr_conf_kind_name(to->kind));
  return gr_hint(gr_note(s, to->loc, "it is a %s here", gr_conf_kind_name(to->kind)),
                 "a mapping and a list cannot be merged: give one of them another name, or set the "
                 "first to null in between");
}

// Replaces a member, and keeps the old value as its history.
static void replace(gr_conf *map, int at, gr_conf *value) {
  gr_conf *old = map->items[at];
  value->up = map, value->was = old, value->key_kind = old->key_kind;
  map->items[at] = value;
}

// Before something is merged into an interpolation whose value is a map or list, the interpolation
// is replaced by a copy of that value. One that cannot be resolved yet is left unchanged.
static gr_conf *expand(gr_resolver *r, gr_conf *map, int at) {
  gr_conf *c = map->items[at], *value = NULL;
  if (c->kind != GR_CONF_INTERP) return c;
  gr_status s = gr_interp_value(r, c, &value);
  gr_status_drop(s);
  if (s || !collection(value)) return c;
  value = gr_conf_copy(r->arena, value);
  value->key_loc = c->key_loc, value->loc = c->loc;
  replace(map, at, value);
  return value;
}

static gr_status merge_member(gr_resolver *r, gr_conf *to, int at, gr_conf *from) {
  gr_conf *now = expand(r, to, at);
  if (from->kind == GR_CONF_MISSING) return GR_OK;
  if (now->kind == GR_CONF_MAP && from->kind == GR_CONF_MAP) return gr_merge(r, now, from);
  if (collection(now) && collection(from) && now->kind != from->kind) return clash(r, now, from);
  replace(to, at, from);
  return GR_OK;
}

static gr_status no_key(gr_resolver *r, const gr_conf *to, const char *key, const gr_conf *from) {
  const char *where = gr_conf_path(r->arena, to);
  gr_status s = gr_fail(GR_ERR_CONFIG, from->key_loc.file ? from->key_loc : from->loc,
                        "there is no key '%s' in '%s'", key, where);
  const char *like = gr_text_nearest(key, to->keys, to->n);
  if (like) s = gr_hint(s, "did you mean '%s'?", like);
  return gr_hint(s, "to add it, put '+' before the argument");
}

static bool is_fixed(const gr_conf *c) {
  while (c->up) c = c->up;
  return c->fixed;
}

gr_status gr_merge(gr_resolver *r, gr_conf *to, gr_conf *from) {
  gr_status all = GR_OK;
  if (to->kind != from->kind) return clash(r, to, from);
  for (int i = 0; i < from->n; i++) {
    gr_conf key = gr_conf_key(from, i), *value = from->items[i];
    int at =
        value->key_kind ? gr_conf_key_index(r->arena, to, &key) : gr_conf_index(to, from->keys[i]);
    if (at >= 0 && !value->key_kind && to->items[at]->key_kind)
      at = gr_conf_key_index(r->arena, to, &key);
    if (at >= 0)
      all = gr_also(all, merge_member(r, to, at, value));
    else if (is_fixed(to))
      all = gr_also(all, no_key(r, to, from->keys[i], value));
    else
      gr_conf_add(r->arena, to, from->keys[i], value);
  }
  return all;
}

// ---- Overrides -------------------------------------------------------------------

typedef struct target {
  gr_conf *in;       // the map or list
  const char *part;  // the key in it, or the number
  int at;            // where it is; -1: not there
} target;

static gr_loc key_place(const gr_override *o) {
  gr_loc at = o->loc;
  at.col += o->kind == GR_OVERRIDE_FORCE ? 2 : o->kind != GR_OVERRIDE_CHANGE;
  return at;
}

static gr_status unknown_key(gr_resolver *r, const gr_conf *in, const gr_override *o,
                             const char *part) {
  const char *where = gr_conf_path(r->arena, in);
  bool inner = *where && !r->known;
  gr_status s = gr_fail(
      GR_ERR_CONFIG, key_place(o), "could not override '%s': there is no key '%s'%s%s%s", o->key,
      r->known ? o->key : part, inner ? " in '" : "", inner ? where : "", inner ? "'" : "");
  const char *like = r->known ? gr_schema_nearest(r->arena, o->key) : NULL;
  if (r->known && gr_schema_replacement(o->key))
    return gr_hint(s, "%s", gr_schema_replacement(o->key));
  if (!like && in->kind == GR_CONF_MAP) {
    like = gr_text_nearest(part, in->keys, in->n);
    if (like) like = gr_arena_printf(r->arena, "%s%s%s", where, *where ? "." : "", like);
  }
  if (like) s = gr_hint(s, "did you mean '%s'?", like);
  if (!r->known) return gr_hint(s, "to add a new key, write +%s", o->line);
  if (like) return s;
  return gr_hint(
      s, "`graphrun config --help` lists the keys; values of your own go under 'vars': vars.%s",
      o->key);
}

static int find_text_key(gr_resolver *r, const gr_conf *map, const char *part) {
  gr_conf key = {.kind = GR_CONF_TEXT, .text = part};
  return gr_conf_key_index(r->arena, map, &key);
}

// The error for a key such as 1 or true: arguments can name only keys that are strings.
static gr_status no_text_key(const gr_override *o, const gr_conf *map, const char *part) {
  gr_status s = gr_fail(GR_ERR_CONFIG, key_place(o),
                        "the key '%s' is not a string, and cannot be reached from here", part);
  int at = gr_conf_index(map, part);
  return gr_hint(gr_note(s, map->items[at]->key_loc, "it is defined here"),
                 "quote it there: \"%s\"", part);
}

static int find_element(const gr_conf *list, const char *part) {
  int at = 0;
  if (!*part) return -1;
  for (; *part >= '0' && *part <= '9'; part++) {
    if (at >= list->n) return -1;
    at = at * 10 + (*part - '0');
  }
  return *part || at >= list->n ? -1 : at;
}

static int find_part(gr_resolver *r, const gr_conf *c, const char *part) {
  return c->kind == GR_CONF_LIST ? find_element(c, part) : find_text_key(r, c, part);
}

static gr_status not_in_list(gr_resolver *r, const gr_conf *list, const gr_override *o,
                             const char *part) {
  const char *path = gr_conf_path(r->arena, list);
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, key_place(o), "'%s' has %d element%s: there is no '%s'", path, list->n,
              list->n == 1 ? "" : "s", part),
      "elements are counted from 0; to change the length, set the whole list: '%s=[...]'", path);
}

// Sets a member or an element. A new member is added to the map's keys.
static void set_part(gr_resolver *r, const target *t, const gr_override *o, gr_conf *value) {
  value->key_loc = key_place(o);
  if (t->at < 0) {
    gr_conf_add(r->arena, t->in, t->part, value);
    return;
  }
  replace(t->in, t->at, value);
}

// Walks to the last part of the key. A value in between that is not a map or list is replaced by an
// empty map.
static gr_status walk(gr_resolver *r, gr_conf *root, const gr_override *o, bool add, target *t) {
  const char *s = o->key;
  *t = (target){.in = root};
  for (;;) {
    size_t n = strcspn(s, ".");
    t->part = gr_arena_strndup(r->arena, s, n);
    t->at = find_part(r, t->in, t->part);
    if (t->at < 0 && t->in->kind == GR_CONF_LIST) return not_in_list(r, t->in, o, t->part);
    bool other = t->at < 0 && t->in->kind == GR_CONF_MAP && gr_conf_index(t->in, t->part) >= 0;
    if (other && o->kind == GR_OVERRIDE_CHANGE) return no_text_key(o, t->in, t->part);
    if (t->at < 0 && !add) return unknown_key(r, t->in, o, t->part);
    if (!s[n]) return GR_OK;
    s += n + 1;
    if (t->at < 0 || !collection(t->in->items[t->at])) {
      gr_conf *map = gr_conf_make(r->arena, GR_CONF_MAP, o->value_loc);
      set_part(r, t, o, map);
      t->in = map;
    } else {
      t->in = t->in->items[t->at];
    }
  }
}

static gr_status set(gr_resolver *r, gr_conf *root, const gr_override *o, bool add) {
  gr_conf *value = gr_conf_copy(r->arena, o->value.one);
  target t;
  GR_TRY(gr_conf_check_keys(value));
  GR_TRY(gr_expr_check(r->arena, value));
  GR_TRY(walk(r, root, o, add, &t));
  gr_conf *now = t.at >= 0 ? t.in->items[t.at] : NULL;
  if (!now || !collection(now) || !collection(value)) {
    set_part(r, &t, o, value);
    return GR_OK;
  }
  value->key_loc = key_place(o);
  if (now->kind != value->kind) return clash(r, now, value);
  if (now->kind == GR_CONF_LIST) {
    set_part(r, &t, o, value);
    return GR_OK;
  }
  bool fixed = root->fixed;
  root->fixed = fixed && !add;
  gr_status s = gr_merge(r, now, value);
  root->fixed = fixed;
  return s;
}

// The current value at an override's key: NULL when it is missing, null or ???.
static gr_status present(gr_resolver *r, gr_conf *root, const gr_override *o, gr_conf **out) {
  gr_conf holder = {.kind = GR_CONF_INTERP, .loc = key_place(o), .text = o->key, .up = root};
  GR_TRY(gr_interp_select(r, root, o->key, &holder, out));
  if (*out && ((*out)->kind == GR_CONF_NULL || (*out)->kind == GR_CONF_MISSING)) *out = NULL;
  return GR_OK;
}

static gr_status add(gr_resolver *r, gr_conf *root, const gr_override *o) {
  gr_conf *now = NULL;
  GR_TRY(present(r, root, o, &now));
  if (!now || collection(o->value.one)) return set(r, root, o, true);
  gr_status s =
      gr_fail(GR_ERR_CONFIG, key_place(o), "could not add '%s': it exists already", o->key);
  return gr_hint(gr_note(s, now->loc, "it is set here"),
                 "to change it, write %s; to add or change it, write +%s", o->line + 1, o->line);
}

static double number(const gr_conf *c) {
  return c->kind == GR_CONF_INT    ? (double)c->integer
         : c->kind == GR_CONF_BOOL ? c->truth
                                   : c->number;
}
static bool is_number(const gr_conf *c) {
  return c->kind == GR_CONF_INT || c->kind == GR_CONF_BOOL || c->kind == GR_CONF_FLOAT;
}

// Python's ==: 1, 1.0 and true are equal, and the order of a map's keys does not matter.
static bool equal(gr_arena *a, const gr_conf *x, const gr_conf *y) {
  if (is_number(x) && is_number(y)) return number(x) == number(y);
  if (x->kind != y->kind) return false;
  if (x->kind == GR_CONF_NULL) return true;
  if (!collection(x)) return !strcmp(x->text, y->text);
  if (x->n != y->n) return false;
  for (int i = 0; i < x->n; i++) {
    gr_conf key = {0};
    if (x->kind == GR_CONF_MAP) key = gr_conf_key(x, i);
    int at = x->kind == GR_CONF_MAP ? gr_conf_key_index(a, y, &key) : i;
    if (at < 0 || !equal(a, x->items[i], y->items[at])) return false;
  }
  return true;
}

static gr_status other_value(gr_resolver *r, const gr_override *o, const gr_conf *now) {
  gr_text t = gr_text_make(r->arena);
  gr_conf_json(&t, now, 0);
  gr_status s = gr_fail(GR_ERR_CONFIG, o->value_loc, "could not delete '%s': its value is %s (%s)",
                        o->key, t.at, gr_conf_kind_name(now->kind));
  return gr_hint(gr_note(s, now->loc, "it is set here"),
                 "write ~%s to delete it regardless of its value", o->key);
}

static gr_status not_there(const gr_conf *root, const gr_override *o) {
  gr_status s =
      gr_fail(GR_ERR_CONFIG, key_place(o), "could not delete '%s': it does not exist", o->key);
  const char *like = strchr(o->key, '.') ? NULL : gr_text_nearest(o->key, root->keys, root->n);
  return like ? gr_hint(s, "did you mean '%s'?", like) : gr_hint(s, "remove this argument");
}

static gr_status delete (gr_resolver *r, gr_conf *root, const gr_override *o) {
  gr_conf *now = NULL, *in = root;
  const char *dot = strrchr(o->key, '.');
  GR_TRY(present(r, root, o, &now));
  if (!now) return not_there(root, o);
  gr_override parent = *o;
  parent.key = dot ? gr_arena_strndup(r->arena, o->key, (size_t)(dot - o->key)) : "";
  if (dot) GR_TRY(present(r, root, &parent, &in));
  int at = find_part(r, in, dot ? dot + 1 : o->key);
  if (at < 0) return not_there(root, o);  // also for '', which finds the root
  if (o->has_value && !equal(r->arena, o->value.one, now)) return other_value(r, o, now);
  gr_conf_remove(in, at);
  return GR_OK;
}

gr_status gr_merge_override(gr_resolver *r, gr_conf *root, const gr_override *o) {
  if (o->package)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, key_place(o), "'%s@%s' names a group, but there is no group '%s'",
                o->key, o->package, o->key),
        "a group is a folder beside the configuration; for a key, leave out '@%s'", o->package);
  switch (o->kind) {
    case GR_OVERRIDE_ADD:
      return add(r, root, o);
    case GR_OVERRIDE_DELETE:
      return delete (r, root, o);
    default:
      return set(r, root, o, o->kind == GR_OVERRIDE_FORCE || (r->known && r->known(o->key)));
  }
}
