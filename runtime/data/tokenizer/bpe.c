// bpe.c - the tables of byte-level BPE, and decoding; see bpe.h.
#include "runtime/data/tokenizer/bpe.h"
#include <stdlib.h>
#include <string.h>

gr_bpe *gr_bpe_make(gr_arena *a) {
  gr_bpe *b = GR_NEW(a, gr_bpe, 1);
  b->arena = a, b->index = gr_map_make(a), b->unknown = -1;
  b->before.arena = b->after.arena = a;
  return b;
}

// Room for ids below n.
static void make_room(gr_bpe *b, int32_t n) {
  int32_t cap = b->n_room;
  if (n <= cap) return;
  while (cap < n) cap = cap ? 2 * cap : 1024;
  const char **spelling = GR_NEW(b->arena, const char *, cap);
  if (b->n) memcpy(spelling, b->spelling, (size_t)b->n * sizeof *spelling);
  b->spelling = spelling, b->n_room = cap;
}

bool gr_bpe_add(gr_bpe *b, const char *spelling, int32_t id) {
  make_room(b, id + 1);
  if (b->spelling[id] || gr_map_find(&b->index, spelling, NULL)) return false;
  gr_map_put(&b->index, spelling, (uint32_t)id);
  b->spelling[id] = spelling;
  if (id >= b->n) b->n = id + 1;
  return true;
}

int32_t gr_bpe_find(const gr_bpe *b, const char *spelling) {
  uint32_t id;
  return gr_map_find(&b->index, spelling, &id) ? (int32_t)id : -1;
}

// ---- Rules --------------------------------------------------------------------------------------

// The slot of a pair, or the empty one where it would go; there is one.
static gr_bpe_pair *slot_of(const gr_bpe *b, int32_t left, int32_t right) {
  const int32_t key[2] = {left, right};
  uint32_t i = (uint32_t)gr_hash_quick(GR_HASH_START, key, sizeof key) & (b->slots - 1);
  while (b->pair[i].id >= 0 && (b->pair[i].left != left || b->pair[i].right != right))
    i = (i + 1) & (b->slots - 1);
  return &b->pair[i];
}

static void grow_pairs(gr_bpe *b) {
  const gr_bpe_pair *old = b->pair;
  uint32_t n = b->slots;
  b->slots = n ? 2 * n : 1024;
  b->pair = GR_NEW(b->arena, gr_bpe_pair, b->slots);
  for (uint32_t i = 0; i < b->slots; i++) b->pair[i].id = -1;
  for (uint32_t i = 0; i < n; i++)
    if (old[i].id >= 0) *slot_of(b, old[i].left, old[i].right) = old[i];
}

void gr_bpe_merge(gr_bpe *b, int32_t left, int32_t right, int32_t rank, int32_t id) {
  if (2 * b->n_pairs >= b->slots) grow_pairs(b);
  gr_bpe_pair *p = slot_of(b, left, right);
  b->n_pairs += p->id < 0;
  *p = (gr_bpe_pair){left, right, rank, id};
}

const gr_bpe_pair *gr_bpe_pair_of(const gr_bpe *b, int32_t left, int32_t right) {
  const gr_bpe_pair *p = b->slots ? slot_of(b, left, right) : NULL;
  return p && p->id >= 0 ? p : NULL;
}

// ---- What follows from them ---------------------------------------------------------------------

static int longer(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x < y) - (x > y);
}

static void make_finder(gr_bpe *b, bool normalized) {
  gr_bpe_finder *f = &b->find[normalized];
  *f = (gr_bpe_finder){.index = gr_map_make(b->arena)};
  f->token = GR_NEW(b->arena, const gr_bpe_added *, b->n_added + 1);
  f->lengths = GR_NEW(b->arena, size_t, b->n_added + 1);
  for (int i = 0; i < b->n_added; i++) {
    const gr_bpe_added *t = &b->added[i];
    if (!*t->text || t->normalized != normalized) continue;
    gr_map_put(&f->index, t->text, (uint32_t)f->n);
    f->begins[(unsigned char)*t->text] = true;
    f->lengths[f->n] = strlen(t->text);
    f->token[f->n++] = t;
  }
  qsort(f->lengths, (size_t)f->n, sizeof *f->lengths, longer);
  for (int i = 0; i < f->n; i++)
    if (!i || f->lengths[i] != f->lengths[i - 1]) f->lengths[f->n_lengths++] = f->lengths[i];
}

// An added token is its own text, also where its characters are those of other bytes.
static void list_added(gr_bpe *b) {
  for (int i = 0; i < b->n_added; i++) {
    const gr_bpe_added *t = &b->added[i];
    b->token[t->id] = t->text, b->bytes[t->id] = strlen(t->text);
    b->special[t->id] |= t->special;
  }
}

void gr_bpe_finish(gr_bpe *b) {
  b->token = GR_NEW(b->arena, const char *, b->n + 1);
  b->bytes = GR_NEW(b->arena, size_t, b->n + 1);
  b->special = GR_NEW(b->arena, bool, b->n + 1);
  for (int i = 0; i < 256; i++) b->byte[i] = -1;
  for (int32_t i = 0; i < b->n; i++) {
    if (!b->spelling[i]) continue;
    char *bytes = gr_arena_strdup(b->arena, b->spelling[i]);
    int64_t n = gr_bpe_unspell(b->spelling[i], bytes);
    b->token[i] = n < 0 ? b->spelling[i] : bytes;
    b->bytes[i] = n < 0 ? strlen(b->spelling[i]) : (size_t)n;
    if (n == 1) b->byte[(unsigned char)*bytes] = i;
  }
  list_added(b);
  make_finder(b, false), make_finder(b, true);
  b->cache = gr_bpe_cache_make(b->arena);
}

// ---- Decoding -----------------------------------------------------------------------------------

// The bytes at p that could begin a character, at least 1: a longer sequence is cut off, or one of
// them cannot follow. So many become one U+FFFD (Unicode 15, section 3.9, table 3-8).
static size_t broken(const unsigned char *p, size_t n) {
  unsigned char low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
  unsigned char high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
  size_t most = *p >= 0xf0 && *p < 0xf5   ? 3
                : *p >= 0xe0 && *p < 0xf0 ? 2
                : *p >= 0xc2 && *p < 0xe0 ? 1
                                          : 0;
  size_t i = 1;
  for (; i < n && i < most; i++, low = 0x80, high = 0xbf)
    if (p[i] < low || p[i] > high) break;
  return i;
}

static void put_text(gr_text *out, const char *s, size_t n) {
  for (size_t i = 0; i < n;) {
    size_t len = (size_t)gr_utf8_len(s + i);  // s ends in a NUL
    if (len)
      gr_text_putn(out, s + i, len);
    else
      gr_text_put_code(out, 0xfffd);
    i += len ? len : broken((const unsigned char *)s + i, n - i);
  }
}

void gr_bpe_decode(const gr_bpe *b, const int32_t *ids, int64_t n, gr_text *out) {
  gr_arena *scratch = gr_arena_create();
  gr_text bytes = gr_text_make(scratch);
  for (int64_t i = 0; i < n; i++) {
    bool known = ids[i] >= 0 && ids[i] < b->n && b->token[ids[i]];
    if (!known)
      gr_text_put_code(&bytes, 0xfffd);
    else if (!b->special[ids[i]])
      gr_text_putn(&bytes, b->token[ids[i]], b->bytes[ids[i]]);
  }
  if (bytes.len) put_text(out, bytes.chars, bytes.len);
  gr_arena_destroy(scratch);
}

void gr_bpe_free(gr_bpe *b) {
  for (int i = 0; i < b->n_splits; i++) gr_splitter_free(&b->split[i]);
  gr_bpe_cache_close(b->cache);
  b->cache = NULL, b->n_splits = 0;
}
