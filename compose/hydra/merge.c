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

static gr_status clash(gr_resolver *r, const gr_conf *target, const gr_conf *source) {
  gr_loc loc = gr_conf_place(source);
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "'%s' is a %s here, but a %s before",
                        gr_conf_path(r->arena, target), gr_conf_kind_name(source->kind),
                        gr_conf_kind_name(target->kind));
  return gr_hint(gr_note(s, target->loc, "it is a %s here", gr_conf_kind_name(target->kind)),
                 "a mapping and a list cannot be merged: give one of them another name, or set the "
                 "first to null in between");
}

// Replaces a member, and keeps the old value as its history.
static void replace(gr_conf *map, int index, gr_conf *value) {
  gr_conf *old = map->items[index];
  value->up = map, value->replaced = old, value->key_kind = old->key_kind;
  map->items[index] = value;
}

// Before something is merged into an interpolation whose value is a map or list, the interpolation
// is replaced by a copy of that value. One that cannot be resolved yet is left unchanged, and so is
// a value that is written in an interpolation, as oc.decode's: to OmegaConf it is no node.
static gr_conf *expand(gr_resolver *r, gr_conf *map, int index) {
  gr_conf *c = map->items[index], *value = NULL;
  if (c->kind != GR_CONF_INTERP) return c;
  gr_status s = gr_interp_value(r, c, &value);
  gr_status_drop(s);
  if (s || !collection(value) || value->literal) return c;
  value = gr_conf_copy(r->arena, value);
  value->key_loc = c->key_loc, value->loc = c->loc;
  replace(map, index, value);
  return value;
}

static gr_status merge_member(gr_resolver *r, gr_conf *target, int index, gr_conf *source) {
  gr_conf *now = expand(r, target, index);
  if (source->kind == GR_CONF_MISSING) return GR_OK;
  if (now->kind == GR_CONF_MAP && source->kind == GR_CONF_MAP) return gr_merge(r, now, source);
  if (collection(now) && collection(source) && now->kind != source->kind)
    return clash(r, now, source);
  replace(target, index, source);
  return GR_OK;
}

static gr_status no_key(gr_resolver *r, const gr_conf *target, const char *key,
                        const gr_conf *source) {
  const char *where = gr_conf_path(r->arena, target);
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(source), "there is no key '%s' in '%s'", key, where);
  return gr_hint(gr_hint_near(s, key, target->keys, target->n),
                 "to add it, put '+' before the argument");
}

static bool is_fixed(const gr_conf *c) {
  while (c->up) c = c->up;
  return c->fixed;
}

gr_status gr_merge(gr_resolver *r, gr_conf *target, gr_conf *source) {
  gr_status all = GR_OK;
  if (target->kind != source->kind) return clash(r, target, source);
  for (int i = 0; i < source->n; i++) {
    gr_conf key = gr_conf_key(source, i), *value = source->items[i];
    int index = value->key_kind ? gr_conf_key_index(r->arena, target, &key)
                                : gr_conf_index(target, source->keys[i]);
    if (index >= 0 && !value->key_kind && target->items[index]->key_kind)
      index = gr_conf_key_index(r->arena, target, &key);
    if (index >= 0)
      all = gr_also(all, merge_member(r, target, index, value));
    else if (is_fixed(target))
      all = gr_also(all, no_key(r, target, source->keys[i], value));
    else
      gr_conf_add(r->arena, target, source->keys[i], value);
  }
  return all;
}

// ---- Overrides -------------------------------------------------------------------

typedef struct target {
  gr_conf *in;       // the map or list
  const char *part;  // the key in it, or the number
  int index;         // where it is; -1: not there
} target;

static gr_loc key_place(const gr_override *o) {
  gr_loc loc = o->loc;
  loc.col += o->kind == GR_OVERRIDE_FORCE ? 2 : o->kind != GR_OVERRIDE_CHANGE;
  return loc;
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
  int index = gr_conf_index(map, part);
  return gr_hint(gr_note(s, map->items[index]->key_loc, "it is defined here"),
                 "quote it there: \"%s\"", part);
}

static int find_element(const gr_conf *list, const char *part) {
  int index = 0;
  if (!*part) return -1;
  for (; *part >= '0' && *part <= '9'; part++) {
    if (index >= list->n) return -1;
    index = index * 10 + (*part - '0');
  }
  return *part || index >= list->n ? -1 : index;
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
  if (t->index < 0) {
    gr_conf_add(r->arena, t->in, t->part, value);
    return;
  }
  replace(t->in, t->index, value);
}

// Walks to the last part of the key. A value in between that is not a map or list is replaced by an
// empty map.
static gr_status walk(gr_resolver *r, gr_conf *root, const gr_override *o, bool add, target *t) {
  const char *s = o->key;
  *t = (target){.in = root};
  for (;;) {
    size_t n = strcspn(s, ".");
    t->part = gr_arena_strndup(r->arena, s, n);
    t->index = find_part(r, t->in, t->part);
    if (t->index < 0 && t->in->kind == GR_CONF_LIST) return not_in_list(r, t->in, o, t->part);
    bool other = t->index < 0 && t->in->kind == GR_CONF_MAP && gr_conf_index(t->in, t->part) >= 0;
    if (other && o->kind == GR_OVERRIDE_CHANGE) return no_text_key(o, t->in, t->part);
    if (t->index < 0 && !add) return unknown_key(r, t->in, o, t->part);
    if (!s[n]) return GR_OK;
    s += n + 1;
    if (t->index < 0 || !collection(t->in->items[t->index])) {
      gr_conf *map = gr_conf_make(r->arena, GR_CONF_MAP, o->value_loc);
      set_part(r, t, o, map);
      t->in = map;
    } else {
      t->in = t->in->items[t->index];
    }
  }
}

static gr_status set(gr_resolver *r, gr_conf *root, const gr_override *o, bool add) {
  gr_conf *value = gr_conf_copy(r->arena, o->value.one);
  target t;
  GR_TRY(gr_conf_check_keys(value));
  GR_TRY(gr_expr_check(r->arena, value));
  GR_TRY(walk(r, root, o, add, &t));
  gr_conf *now = t.index >= 0 ? t.in->items[t.index] : NULL;
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
  s = gr_note(s, now->loc, "it is set here");
  if (now->kind == GR_CONF_MAP)
    return gr_hint(
        s,
        "it is a section, whose keys are %s.KEY=VALUE; and no folder that is searched has "
        "a folder '%s' of configurations to choose from",
        o->key, o->key);
  return gr_hint(s, "to change it, write %s; to add or change it, write +%s", o->line + 1, o->line);
}

// Python's ==: 1, 1.0 and true are equal, and the order of a map's keys does not matter.
static bool equal(gr_arena *a, const gr_conf *x, const gr_conf *y) {
  if (gr_conf_is_number(x) && gr_conf_is_number(y)) return gr_conf_number(x) == gr_conf_number(y);
  if (x->kind != y->kind) return false;
  if (x->kind == GR_CONF_NULL) return true;
  if (!collection(x)) return !strcmp(x->text, y->text);
  if (x->n != y->n) return false;
  for (int i = 0; i < x->n; i++) {
    gr_conf key = {0};
    if (x->kind == GR_CONF_MAP) key = gr_conf_key(x, i);
    int index = x->kind == GR_CONF_MAP ? gr_conf_key_index(a, y, &key) : i;
    if (index < 0 || !equal(a, x->items[i], y->items[index])) return false;
  }
  return true;
}

static gr_status other_value(gr_resolver *r, const gr_override *o, const gr_conf *now) {
  gr_text t = gr_text_make(r->arena);
  gr_conf_json(&t, now, 0);
  gr_status s = gr_fail(GR_ERR_CONFIG, o->value_loc, "could not delete '%s': its value is %s (%s)",
                        o->key, t.chars, gr_conf_kind_name(now->kind));
  return gr_hint(gr_note(s, now->loc, "it is set here"),
                 "write ~%s to delete it regardless of its value", o->key);
}

static gr_status not_there(const gr_conf *root, const gr_override *o) {
  gr_status s =
      gr_fail(GR_ERR_CONFIG, key_place(o), "could not delete '%s': it does not exist", o->key);
  const char *like = strchr(o->key, '.') ? NULL : gr_text_nearest(o->key, root->keys, root->n);
  return like ? gr_hint(s, "did you mean '%s'?", like) : gr_hint(s, "remove this argument");
}

// Whether a map or list is a part of the tree, and not of a value that an interpolation makes.
static bool is_part(const gr_conf *root, const gr_conf *c) {
  for (; c != root; c = c->up) {
    int i = 0;
    while (c->up && i < c->up->n && c->up->items[i] != c) i++;
    if (!c->up || i == c->up->n) return false;
  }
  return true;
}

static gr_status made_elsewhere(const gr_override *o) {
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, key_place(o),
              "could not delete '%s': an interpolation makes the value it is in", o->key),
      "set that value as a whole");
}

static gr_status delete (gr_resolver *r, gr_conf *root, const gr_override *o) {
  gr_conf *now = NULL, *in = root;
  const char *dot = strrchr(o->key, '.');
  GR_TRY(present(r, root, o, &now));
  if (!now) return not_there(root, o);
  gr_override parent = *o;
  parent.key = dot ? gr_arena_strndup(r->arena, o->key, (size_t)(dot - o->key)) : "";
  if (dot) GR_TRY(present(r, root, &parent, &in));
  int index = find_part(r, in, dot ? dot + 1 : o->key);
  if (index < 0) return not_there(root, o);  // also for '', which finds the root
  if (o->has_value && !equal(r->arena, o->value.one, now)) return other_value(r, o, now);
  if (!is_part(root, in)) return made_elsewhere(o);
  gr_conf_remove(in, index);
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
