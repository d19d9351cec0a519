// look.c - lookup in a configuration tree, and errors for what has not been looked up. See conf.h.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "compose/tree/conf.h"

enum { MAX_UNREAD = 20, MAX_SIBLINGS = 256 };

// Trees that are marked as a whole are only read from then on, by several threads too.
static void mark(gr_conf *c) {
  if (!c->read) c->read = true;
}

gr_conf *gr_conf_member(gr_conf *m, const char *key) {
  int i = m ? gr_conf_index(m, key) : -1;
  if (i < 0) return NULL;
  mark(m), mark(m->items[i]);
  return m->items[i];
}

static gr_conf *element(gr_conf *list, const char *part) {
  char *end;
  long i = strtol(part, &end, 10);
  if (!isdigit((unsigned char)*part) || *end || i >= list->n) return NULL;
  mark(list), mark(list->items[i]);
  return list->items[i];
}

gr_conf *gr_conf_find(gr_conf *c, const char *path) {
  char part[512];
  while (c && *path) {
    size_t len = strcspn(path, ".[]");
    if (len >= sizeof part) return NULL;
    memcpy(part, path, len);
    part[len] = 0;
    path += len;
    if (len) c = c->kind == GR_CONF_LIST ? element(c, part) : gr_conf_member(c, part);
    if (*path) path++;
  }
  return c;
}

gr_conf *gr_conf_look(const gr_conf *map, const char *path) {
  char part[512];
  for (;; path = strchr(path, '.') + 1) {
    size_t n = strcspn(path, ".");
    snprintf(part, sizeof part, "%.*s", (int)n, path);
    int index = map->kind == GR_CONF_MAP ? gr_conf_index(map, part) : -1;
    if (index < 0 || map->items[index]->kind == GR_CONF_NULL) return NULL;
    map = map->items[index];
    if (!path[n]) return (gr_conf *)map;
  }
}

gr_status gr_conf_put_at(gr_arena *a, gr_conf *map, const char *path, gr_conf *value) {
  for (size_t n = strcspn(path, "."); path[n]; path += n + 1, n = strcspn(path, ".")) {
    const char *name = gr_arena_strndup(a, path, n);
    int index = gr_conf_index(map, name);
    if (index < 0 || map->items[index]->kind == GR_CONF_NULL)
      gr_conf_put(a, map, name, gr_conf_make(a, GR_CONF_MAP, value->loc));
    map = map->items[gr_conf_index(map, name)];
    if (map->kind != GR_CONF_MAP)
      return gr_fail(GR_ERR_CONFIG, map->loc, "'%s' must be a mapping, but is %s", name,
                     gr_conf_a_kind(map->kind));
  }
  gr_conf_put(a, map, path, value);
  return GR_OK;
}

bool gr_conf_is_number(const gr_conf *c) {
  return c->kind == GR_CONF_INT || c->kind == GR_CONF_FLOAT || c->kind == GR_CONF_BOOL;
}

double gr_conf_number(const gr_conf *c) {
  return c->kind == GR_CONF_INT    ? (double)c->integer
         : c->kind == GR_CONF_BOOL ? c->truth
                                   : c->number;
}

gr_loc gr_conf_place(const gr_conf *c) { return c->key_loc.file ? c->key_loc : c->loc; }

bool gr_conf_has_text(const gr_conf *c) {
  return c->kind == GR_CONF_TEXT || c->kind == GR_CONF_INTERP || c->kind == GR_CONF_MISSING;
}

const char *gr_conf_text_of(const gr_conf *c, const char *otherwise) {
  return c && c->kind == GR_CONF_TEXT ? c->text : otherwise;
}

bool gr_conf_says(const gr_conf *c, const char *word) {
  return c && c->kind == GR_CONF_TEXT && !strcmp(c->text, word);
}

const char *gr_conf_written(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  if (c->kind == GR_CONF_TEXT) return c->text;
  gr_conf_json(&t, c, 0);
  return t.chars;
}

bool gr_conf_same(gr_arena *a, const gr_conf *x, const gr_conf *y) {
  bool numbers = (x->kind == GR_CONF_INT || x->kind == GR_CONF_FLOAT) &&
                 (y->kind == GR_CONF_INT || y->kind == GR_CONF_FLOAT);
  if (numbers) return gr_conf_number(x) == gr_conf_number(y);
  return x->kind == y->kind && !strcmp(gr_conf_written(a, x), gr_conf_written(a, y));
}

static int index_in(const gr_conf *up, const gr_conf *c) {
  for (int i = 0; i < up->n; i++)
    if (up->items[i] == c) return i;
  return -1;
}

const char *gr_conf_path(gr_arena *a, const gr_conf *c) {
  if (!c->up) return "";
  const char *before = gr_conf_path(a, c->up);
  int i = index_in(c->up, c);
  if (i < 0) return before;
  if (!c->up->keys) return gr_arena_printf(a, "%s[%d]", before, i);
  return gr_arena_printf(a, "%s%s%s", before, *before ? "." : "", c->up->keys[i]);
}

static gr_status wrong(const gr_conf *c, const char *path, const char *expected) {
  if (c->kind == GR_CONF_MISSING)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be set: it is '??\?'", path),
                   "set it in a file, or with %s=VALUE on the command line", path);
  return gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be %s, but is %s", path, expected,
                 gr_conf_a_kind(c->kind));
}

gr_status gr_conf_int(gr_conf *c, const char *path, int64_t default_value, int64_t *out) {
  const gr_conf *v = gr_conf_find(c, path);
  if (v && v->kind != GR_CONF_INT) return wrong(v, path, "an integer");
  *out = v ? v->integer : default_value;
  return GR_OK;
}

gr_status gr_conf_float(gr_conf *c, const char *path, double default_value, double *out) {
  const gr_conf *v = gr_conf_find(c, path);
  if (v && v->kind != GR_CONF_INT && v->kind != GR_CONF_FLOAT) return wrong(v, path, "a float");
  *out = v ? gr_conf_number(v) : default_value;
  return GR_OK;
}

gr_status gr_conf_bool(gr_conf *c, const char *path, bool default_value, bool *out) {
  const gr_conf *v = gr_conf_find(c, path);
  if (v && v->kind != GR_CONF_BOOL) return wrong(v, path, "true or false");
  *out = v ? v->truth : default_value;
  return GR_OK;
}

gr_status gr_conf_text(gr_conf *c, const char *path, const char *default_value, const char **out) {
  const gr_conf *v = gr_conf_find(c, path);
  if (v && v->kind != GR_CONF_TEXT && v->kind != GR_CONF_NULL) return wrong(v, path, "a string");
  *out = v && v->kind == GR_CONF_TEXT ? v->text : default_value;
  return GR_OK;
}

void gr_conf_mark(gr_conf *c) {
  mark(c);
  for (int i = 0; i < c->n && c->items; i++) gr_conf_mark(c->items[i]);
}

// The sibling that was read and is spelt most like this one.
static const char *nearest_sibling(const gr_conf *c) {
  const char *names[MAX_SIBLINGS];
  int n = 0;
  if (!c->up || !c->up->keys) return NULL;
  for (int i = 0; i < c->up->n && n < MAX_SIBLINGS; i++)
    if (c->up->items[i]->read) names[n++] = c->up->keys[i];
  int index = index_in(c->up, c);
  return index < 0 ? NULL : gr_text_nearest(c->up->keys[index], names, n);
}

static gr_status unread_leaf(gr_arena *a, const gr_conf *c) {
  const char *path = gr_conf_path(a, c);
  gr_loc loc = gr_conf_place(c);
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "nothing reads '%s'", path);
  const char *like = nearest_sibling(c);
  return like ? gr_hint(s, "did you mean '%s'?", like)
              : gr_hint(s, "remove it, or check its spelling and its position");
}

// A list that was looked up counts as read with its elements, because readers iterate over lists.
static bool was_read(const gr_conf *c) {
  if (c->read || c->is_default || !c->up) return true;
  return c->up->kind == GR_CONF_LIST && was_read(c->up);
}

gr_status gr_conf_unread(gr_arena *a, const gr_conf *c) {
  bool inner = c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST;
  if (!inner || !c->n) return was_read(c) ? GR_OK : unread_leaf(a, c);
  gr_status all = GR_OK;
  for (int i = 0; i < c->n && gr_status_count(all) < MAX_UNREAD; i++)
    all = gr_also(all, gr_conf_unread(a, c->items[i]));
  return all;
}

gr_status gr_conf_check_list(gr_conf *list, const char *key, const char *items, int most,
                             const char *example) {
  gr_conf_mark(list);
  if (list->kind == GR_CONF_LIST && list->n <= most) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, list->loc, "%s must be a list of at most %d %s, found %s",
                         key, most, items, gr_conf_a_kind(list->kind)),
                 "as in \"%s=%s\"", key, example);
}
