// pack.c - see pack.h. A value is stored as its kind, flags and two locations, followed by its
// content: numbers in the machine's byte order (all ranks of a run are alike), strings with their
// length.
#include "compose/tree/pack.h"
#include <string.h>
#include "base/hash.h"

enum { DEPTH = 64, ABSENT = 0xffffffff };  // limit of nesting, as in yaml.c; length that means NULL

// ---- Writing --------------------------------------------------------------------------------

static void put_number(gr_text *t, uint32_t n) { gr_text_putn(t, (const char *)&n, sizeof n); }

static void put_text(gr_text *t, const char *s) {
  put_number(t, s ? (uint32_t)strlen(s) : (uint32_t)ABSENT);
  if (s) gr_text_put(t, s);
}

static void put_place(gr_text *t, gr_loc loc) {
  put_text(t, loc.file);
  put_number(t, (uint32_t)loc.line);
  put_number(t, (uint32_t)loc.col);
}

static bool is_text(gr_conf_kind k) { return k == GR_CONF_TEXT || k == GR_CONF_INTERP; }
static bool is_node(gr_conf_kind k) { return k == GR_CONF_MAP || k == GR_CONF_LIST; }

void gr_conf_pack(gr_text *t, const gr_conf *c) {
  put_number(t, (uint32_t)c->kind);
  put_number(t, (uint32_t)c->key_kind);
  put_number(t, (uint32_t)c->is_default << 1 | c->read);
  put_place(t, c->loc);
  put_place(t, c->key_loc);
  if (is_text(c->kind) || c->kind == GR_CONF_MISSING) put_text(t, c->text);
  if (c->kind == GR_CONF_BOOL) put_number(t, c->truth);
  if (c->kind == GR_CONF_INT) gr_text_putn(t, (const char *)&c->integer, sizeof c->integer);
  if (c->kind == GR_CONF_FLOAT) gr_text_putn(t, (const char *)&c->number, sizeof c->number);
  if (!is_node(c->kind)) return;
  put_number(t, (uint32_t)c->n);
  for (int i = 0; i < c->n; i++) {
    if (c->kind == GR_CONF_MAP) put_text(t, c->keys[i]);
    gr_conf_pack(t, c->items[i]);
  }
}

// ---- Reading --------------------------------------------------------------------------------

typedef struct reader {
  gr_arena *arena;
  const char *cursor, *end;
  bool bad;
} reader;

static void take(reader *r, void *out, size_t bytes) {
  r->bad |= (size_t)(r->end - r->cursor) < bytes;
  memset(out, 0, bytes);
  if (r->bad) return;
  memcpy(out, r->cursor, bytes);
  r->cursor += bytes;
}

static uint32_t take_number(reader *r) {
  uint32_t n;
  take(r, &n, sizeof n);
  return n;
}

static const char *take_text(reader *r) {
  uint32_t n = take_number(r);
  if (n == ABSENT) return NULL;
  r->bad |= (size_t)(r->end - r->cursor) < n;
  if (r->bad) return NULL;
  r->cursor += n;
  return gr_arena_strndup(r->arena, r->cursor - n, n);
}

static gr_loc take_place(reader *r) {
  gr_loc loc = {.file = take_text(r)};
  loc.line = (int)take_number(r);
  loc.col = (int)take_number(r);
  return loc;
}

static gr_conf *take_value(reader *r, int depth);

static void take_members(reader *r, gr_conf *c, int depth) {
  uint32_t n = take_number(r);
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    const char *key = c->kind == GR_CONF_MAP ? take_text(r) : NULL;
    r->bad |= c->kind == GR_CONF_MAP && !key;
    gr_conf *value = take_value(r, depth + 1);
    if (r->bad) return;
    if (key)
      gr_conf_add(r->arena, c, key, value);
    else
      gr_conf_append(r->arena, c, value);
  }
}

static gr_conf *take_value(reader *r, int depth) {
  uint32_t kind = take_number(r), key_kind = take_number(r), flags = take_number(r);
  r->bad |= kind > GR_CONF_LIST || key_kind > GR_CONF_LIST || depth > DEPTH;
  if (r->bad) return NULL;
  gr_conf *c = gr_conf_make(r->arena, (gr_conf_kind)kind, take_place(r));
  c->key_kind = (gr_conf_kind)key_kind, c->is_default = flags & 2, c->read = flags & 1;
  c->key_loc = take_place(r);
  if (is_text(c->kind) || c->kind == GR_CONF_MISSING) c->text = take_text(r);
  r->bad |= is_text(c->kind) && !c->text;
  if (c->kind == GR_CONF_BOOL) c->truth = take_number(r);
  if (c->kind == GR_CONF_INT) take(r, &c->integer, sizeof c->integer);
  if (c->kind == GR_CONF_FLOAT) take(r, &c->number, sizeof c->number);
  if (is_node(c->kind)) take_members(r, c, depth);
  return c;
}

gr_status gr_conf_unpack(gr_arena *arena, const char *bytes, size_t n, gr_conf **out) {
  reader r = {.arena = arena, .cursor = bytes, .end = bytes + n};
  *out = take_value(&r, 0);
  if (!r.bad && r.cursor == r.end) return GR_OK;
  *out = NULL;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the configuration of rank 0 cannot be read"),
                 "all ranks must run the same graphrun on machines of the same byte order");
}

// ---- Comparing ------------------------------------------------------------------------------

static bool same_value(const gr_conf *a, const gr_conf *b) {
  if (a->kind != b->kind) return false;
  if (is_text(a->kind)) return !strcmp(a->text, b->text);
  if (a->kind == GR_CONF_BOOL) return a->truth == b->truth;
  if (a->kind == GR_CONF_INT) return a->integer == b->integer;
  if (a->kind == GR_CONF_FLOAT) return !memcmp(&a->number, &b->number, sizeof a->number);
  return a->kind != GR_CONF_LIST || a->n == b->n;
}

static bool found(const gr_conf *a, const gr_conf *b, const gr_conf **in_a, const gr_conf **in_b) {
  *in_a = a, *in_b = b;
  return true;
}

static uint64_t hash_text(uint64_t h, const char *text) {
  return gr_hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t hash_value(uint64_t h, const gr_conf *c) {
  if (c->raw && strstr(c->raw, "${now:")) return h;
  if (c->raw && c->from_env) return hash_text(h, c->raw);
  h = gr_hash_bytes(h, &c->kind, sizeof c->kind);
  if (is_text(c->kind)) h = hash_text(h, c->text);
  if (c->kind == GR_CONF_BOOL) h = hash_text(h, c->truth ? "true" : "false");
  if (c->kind == GR_CONF_INT) h = gr_hash_bytes(h, &c->integer, sizeof c->integer);
  if (c->kind == GR_CONF_FLOAT) h = gr_hash_bytes(h, &c->number, sizeof c->number);
  if (!is_node(c->kind)) return h;
  for (int i = 0; i < c->n; i++) {
    if (c->kind == GR_CONF_MAP) h = hash_text(h, c->keys[i]);
    h = hash_value(h, c->items[i]);
  }
  return hash_text(h, "end");
}

uint64_t gr_conf_hash(const gr_conf *c) { return hash_value(GR_HASH_START, c); }

bool gr_conf_differs(const gr_conf *a, const gr_conf *b, const gr_conf **in_a,
                     const gr_conf **in_b) {
  bool maps = a->kind == GR_CONF_MAP;
  if (a->raw && strstr(a->raw, "${now:")) return false;
  if (!same_value(a, b)) return found(a, b, in_a, in_b);
  if (!is_node(a->kind)) return false;
  for (int i = 0; i < b->n; i++) {
    int index = maps ? gr_conf_index(a, b->keys[i]) : i;
    if (index < 0) return found(NULL, b->items[i], in_a, in_b);
    if (gr_conf_differs(a->items[index], b->items[i], in_a, in_b)) return true;
  }
  for (int i = 0; maps && i < a->n; i++)
    if (gr_conf_index(b, a->keys[i]) < 0) return found(a->items[i], NULL, in_a, in_b);
  return false;
}
