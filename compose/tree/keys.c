// keys.c - map keys that are not strings: true, 1 and 1.0 are the same key, as in Python.
#include <assert.h>
#include <string.h>
#include "compose/tree/conf.h"
#include "compose/tree/scalar.h"

// As stored in `keys`.
static const char *key_text(gr_arena *a, const gr_conf *k) {
  if (k->kind == GR_CONF_NULL) return "null";
  if (k->kind == GR_CONF_BOOL) return k->truth ? "true" : "false";
  if (k->kind == GR_CONF_INT) return gr_arena_printf(a, "%lld", (long long)k->integer);
  if (k->kind != GR_CONF_FLOAT) return k->text;
  gr_text t = gr_text_make(a);
  gr_text_put_float(&t, k->number);
  return t.chars;
}

// The number that a stored key represents; false: it is a string.
static bool stored_number(const gr_conf *m, int i, double *out) {
  gr_conf_kind kind = m->items[i]->key_kind;
  if (kind == GR_CONF_BOOL) *out = m->keys[i][0] == 't';
  return kind == GR_CONF_BOOL ||
         ((kind == GR_CONF_INT || kind == GR_CONF_FLOAT) && gr_scalar_py_float(m->keys[i], out));
}

static bool same(const gr_conf *m, int i, const gr_conf *k, const char *text) {
  gr_conf_kind kind = m->items[i]->key_kind;
  double number;
  if (gr_conf_has_text(k)) return !kind && !strcmp(m->keys[i], text);
  if (k->kind == GR_CONF_NULL) return kind == GR_CONF_MISSING;
  return stored_number(m, i, &number) && number == gr_conf_number(k);
}

int gr_conf_key_index(gr_arena *a, const gr_conf *m, const gr_conf *k) {
  const char *text = key_text(a, k);
  int index = gr_conf_index(m, text);
  if (index >= 0 && same(m, index, k, text)) return index;
  if (index < 0 && gr_conf_has_text(k)) return -1;
  for (int i = 0; i < m->n; i++)
    if (same(m, i, k, text)) return i;
  return -1;
}

void gr_conf_put_key(gr_arena *a, gr_conf *m, const gr_conf *k, gr_conf *value) {
  assert(m->kind == GR_CONF_MAP && value);
  int index = gr_conf_key_index(a, m, k);
  value->up = m;
  if (index >= 0) {
    value->key_kind = m->items[index]->key_kind, value->key_loc = m->items[index]->key_loc;
    m->items[index] = value;
    return;
  }
  value->key_loc = k->loc;
  value->key_kind = gr_conf_has_text(k)       ? GR_CONF_NULL
                    : k->kind == GR_CONF_NULL ? GR_CONF_MISSING
                                              : k->kind;
  gr_conf_add(a, m, key_text(a, k), value);
}

void gr_conf_put_all(gr_arena *a, gr_conf *map, const gr_conf *source) {
  assert(map->kind == GR_CONF_MAP && source->kind == GR_CONF_MAP);
  for (int i = 0; i < source->n; i++) {
    gr_conf k = gr_conf_key(source, i);
    gr_conf_put_key(a, map, &k, gr_conf_copy(a, source->items[i]));
  }
}

gr_conf gr_conf_key(const gr_conf *m, int i) {
  assert(i >= 0 && i < m->n);
  gr_conf k = {.kind = m->items[i]->key_kind, .loc = m->items[i]->key_loc};
  if (k.kind == GR_CONF_MISSING)
    k.kind = GR_CONF_NULL;
  else if (k.kind == GR_CONF_BOOL)
    k.truth = m->keys[i][0] == 't';
  else if (k.kind == GR_CONF_INT)
    (void)gr_scalar_py_int(m->keys[i], &k.integer);
  else if (k.kind == GR_CONF_FLOAT)
    (void)gr_scalar_py_float(m->keys[i], &k.number);
  else
    k.kind = GR_CONF_TEXT, k.text = m->keys[i];
  return k;
}

void gr_conf_put_items(gr_text *t, const gr_conf *c, const char *comma, const char *colon,
                       void (*put)(gr_text *, const gr_conf *)) {
  bool map = c->kind == GR_CONF_MAP;
  gr_text_put(t, map ? "{" : "[");
  for (int i = 0; i < c->n; i++) {
    if (i) gr_text_put(t, comma);
    if (map) {
      gr_conf key = gr_conf_key(c, i);
      put(t, &key);
      gr_text_put(t, colon);
    }
    put(t, c->items[i]);
  }
  gr_text_put(t, map ? "}" : "]");
}
