// conf.c - builds and changes configuration trees. See conf.h.
#include "compose/tree/conf.h"
#include <assert.h>
#include <string.h>

enum { INDEX_FROM = 16 };  // maps with at least so many members have a hash index

gr_conf *gr_conf_make(gr_arena *a, gr_conf_kind kind, gr_loc loc) {
  assert(a);
  gr_conf *c = GR_NEW(a, gr_conf, 1);
  c->kind = kind, c->loc = loc;
  return c;
}

gr_conf *gr_conf_make_int(gr_arena *a, int64_t value, gr_loc loc) {
  gr_conf *c = gr_conf_make(a, GR_CONF_INT, loc);
  c->integer = value;
  return c;
}

gr_conf *gr_conf_make_text(gr_arena *a, const char *text, gr_loc loc) {
  gr_conf *c = gr_conf_make(a, GR_CONF_TEXT, loc);
  c->text = text;
  return c;
}

const char *gr_conf_a_kind(gr_conf_kind kind) {
  static const char *const names[] = {
      [GR_CONF_NULL] = "null",
      [GR_CONF_BOOL] = "a bool",
      [GR_CONF_INT] = "an integer",
      [GR_CONF_FLOAT] = "a float",
      [GR_CONF_TEXT] = "a string",
      [GR_CONF_MISSING] = "'??\?' (to be set)",
      [GR_CONF_INTERP] = "an interpolation",
      [GR_CONF_MAP] = "a mapping",
      [GR_CONF_LIST] = "a list",
  };
  return names[kind];
}

const char *gr_conf_kind_name(gr_conf_kind kind) {
  const char *name = gr_conf_a_kind(kind), *space = strchr(name, ' ');
  return *name == 'a' && space ? space + 1 : name;
}

void gr_conf_set_text(gr_conf *c, const char *text) {
  assert(text);
  c->kind = !strcmp(text, "???") ? GR_CONF_MISSING
            : strstr(text, "${") ? GR_CONF_INTERP
                                 : GR_CONF_TEXT;
  c->text = text;
}

static uint32_t slot_of(const gr_conf *m, const char *key) {
  uint32_t mask = m->n_index - 1, slot = (uint32_t)gr_hash_text(key) & mask;
  while (m->index[slot] && strcmp(m->keys[m->index[slot] - 1], key)) slot = (slot + 1) & mask;
  return slot;
}

static void reindex(gr_conf *m) {
  memset(m->index, 0, sizeof *m->index * m->n_index);
  for (int i = 0; i < m->n; i++) {
    uint32_t slot = slot_of(m, m->keys[i]);
    if (!m->index[slot]) m->index[slot] = (uint32_t)i + 1;
  }
}

int gr_conf_index(const gr_conf *m, const char *key) {
  if (m->kind != GR_CONF_MAP) return -1;
  if (m->index) return (int)m->index[slot_of(m, key)] - 1;
  for (int i = 0; i < m->n; i++)
    if (*m->keys[i] == *key && !strcmp(m->keys[i], key)) return i;
  return -1;
}

static void grow(gr_arena *a, gr_conf *c) {
  int cap = c->cap ? c->cap * 2 : 4;
  gr_conf **items = GR_NEW(a, gr_conf *, cap);
  if (c->n) memcpy(items, c->items, sizeof *items * (size_t)c->n);
  c->items = items;
  if (c->kind == GR_CONF_MAP) {
    const char **keys = GR_NEW(a, const char *, cap);
    if (c->n) memcpy(keys, c->keys, sizeof *keys * (size_t)c->n);
    c->keys = keys;
  }
  c->cap = cap;
  if (c->kind != GR_CONF_MAP || cap <= INDEX_FROM) return;
  for (c->n_index = 16; c->n_index < (uint32_t)cap * 2;) c->n_index *= 2;  // a power of two
  c->index = GR_NEW(a, uint32_t, c->n_index);
  reindex(c);
}

void gr_conf_append(gr_arena *a, gr_conf *list, gr_conf *value) {
  assert(list->kind == GR_CONF_LIST && value);
  if (list->n == list->cap) grow(a, list);
  list->items[list->n++] = value;
  value->up = list;
}

void gr_conf_put(gr_arena *a, gr_conf *m, const char *key, gr_conf *value) {
  assert(m->kind == GR_CONF_MAP && key && value);
  value->up = m;
  int index = gr_conf_index(m, key);
  if (index >= 0)
    m->items[index] = value;
  else
    gr_conf_add(a, m, key, value);
}

void gr_conf_add(gr_arena *a, gr_conf *m, const char *key, gr_conf *value) {
  assert(m->kind == GR_CONF_MAP);
  if (m->n == m->cap) grow(a, m);
  value->up = m;
  m->keys[m->n] = key;
  m->items[m->n++] = value;
  if (!m->index) return;
  uint32_t slot = slot_of(m, key);
  if (!m->index[slot]) m->index[slot] = (uint32_t)m->n;
}

void gr_conf_take(gr_conf *target, gr_conf *source) {
  assert(target->kind == source->kind);
  target->keys = source->keys, target->items = source->items;
  target->n = source->n, target->cap = source->cap;
  target->index = source->index, target->n_index = source->n_index;
  for (int i = 0; i < target->n; i++) target->items[i]->up = target;
}

void gr_conf_remove(gr_conf *c, int item) {
  assert(item >= 0 && item < c->n);
  size_t after = (size_t)(c->n - item - 1);
  memmove(c->items + item, c->items + item + 1, sizeof *c->items * after);
  if (c->keys) memmove(c->keys + item, c->keys + item + 1, sizeof *c->keys * after);
  c->n--;
  if (c->index) reindex(c);
}

static gr_status has_nul(const char *path, const char *text) {
  gr_loc loc = {path, 1, 1};
  for (const char *p = text; *p; p++) {
    loc.col += (*p & 0xc0) != 0x80;  // characters of UTF-8
    if (*p == '\n') loc.line++, loc.col = 1;
  }
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "a YAML file cannot contain the character NUL"),
                 "write the file in UTF-8, without NUL");
}

gr_status gr_conf_load(gr_arena *a, const char *path, size_t most, char **text, size_t *len) {
  gr_status s = gr_file_read(a, path, most, text, len);
  if (!s && strlen(*text) == *len) return GR_OK;
  if (!s) return has_nul(gr_arena_strdup(a, path), *text);
  gr_status config = gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%s", gr_status_text(s));
  if (gr_status_hint(s)) config = gr_hint(config, "%s", gr_status_hint(s));
  gr_status_drop(s);
  return config;
}

gr_status gr_conf_check_keys(const gr_conf *c) {
  for (int i = 0; i < c->n && c->items; i++) {
    if (c->items[i]->key_kind == GR_CONF_MISSING)
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->items[i]->key_loc, "a key cannot be null"),
                     "give it a name");
    GR_TRY(gr_conf_check_keys(c->items[i]));
  }
  return GR_OK;
}

int gr_conf_size(const gr_conf *c) {
  int n = 1;
  for (int i = 0; i < c->n && c->items; i++) n += gr_conf_size(c->items[i]);
  return n;
}

gr_conf *gr_conf_copy(gr_arena *a, const gr_conf *source) {
  gr_conf *c = GR_NEW(a, gr_conf, 1);
  *c = *source;
  c->up = NULL;
  if (source->kind != GR_CONF_MAP && source->kind != GR_CONF_LIST) return c;
  c->items = GR_NEW(a, gr_conf *, source->n);
  if (source->keys) {
    c->keys = GR_NEW(a, const char *, source->n);
    if (source->n) memcpy(c->keys, source->keys, sizeof *c->keys * (size_t)source->n);
  }
  if (source->index) {
    c->index = GR_NEW(a, uint32_t, source->n_index);
    memcpy(c->index, source->index, sizeof *c->index * source->n_index);
  }
  c->cap = source->n;
  for (int i = 0; i < source->n; i++) {
    c->items[i] = gr_conf_copy(a, source->items[i]);
    c->items[i]->up = c;
  }
  return c;
}
