// encode.c - a text to tokens by byte-level BPE; see bpe.h.
#include <string.h>
#include "base/work.h"
#include "runtime/data/tokenizer/bpe.h"

// ---- The tokens of a word -----------------------------------------------------------------------

typedef struct symbol {  // a token of the word as far as it is merged; id -1: merged into another
  int32_t id, before, next;
} symbol;

typedef struct candidate {  // a pair that may be merged, by the place of its left token
  int32_t rank, place, id;
} candidate;

typedef struct heap {
  candidate *items;
  int32_t n;
} heap;

static bool is_first(const candidate *a, const candidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void heap_put(heap *h, candidate c) {
  int32_t i = h->n++;
  for (; i && is_first(&c, &h->items[(i - 1) / 2]); i = (i - 1) / 2)
    h->items[i] = h->items[(i - 1) / 2];
  h->items[i] = c;
}

static candidate heap_take(heap *h) {
  candidate first = h->items[0], last = h->items[--h->n];
  int32_t i = 0;
  for (int32_t k; (k = 2 * i + 1) < h->n; i = k) {
    if (k + 1 < h->n && is_first(&h->items[k + 1], &h->items[k])) k++;
    if (!is_first(&h->items[k], &last)) break;
    h->items[i] = h->items[k];
  }
  h->items[i] = last;
  return first;
}

static void offer(const gr_bpe *b, const symbol *s, int32_t place, heap *h) {
  if (place < 0 || s[place].next < 0) return;
  const gr_bpe_pair *p = gr_bpe_pair_of(b, s[place].id, s[s[place].next].id);
  if (p) heap_put(h, (candidate){p->rank, place, p->id});
}

// Joins the pair if it is still there: since it was found, one of its tokens may have been merged.
static void join(const gr_bpe *b, symbol *s, candidate c, heap *h) {
  symbol *left = &s[c.place];
  if (left->id < 0 || left->next < 0) return;
  symbol *right = &s[left->next];
  const gr_bpe_pair *p = gr_bpe_pair_of(b, left->id, right->id);
  if (!p || p->id != c.id) return;
  left->id = c.id, left->next = right->next;
  right->id = -1;
  if (left->next >= 0) s[left->next].before = c.place;
  offer(b, s, left->before, h);
  offer(b, s, c.place, h);
}

// A merge makes two candidates at most, and there is one less token after it.
static void merge_word(const gr_bpe *b, const char *word, size_t n, gr_tokens *out) {
  gr_arena *a = gr_arena_create();
  symbol *s = GR_NEW(a, symbol, n);
  heap h = {GR_NEW(a, candidate, 3 * n), 0};
  int32_t count = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t id = b->byte[(unsigned char)word[i]];
    if (id < 0) id = b->unknown;
    if (id < 0) continue;
    s[count] = (symbol){id, count - 1, count + 1};
    count++;
  }
  if (count) s[count - 1].next = -1;
  for (int32_t i = 0; i < count; i++) offer(b, s, i, &h);
  while (h.n) join(b, s, heap_take(&h), &h);
  for (int32_t i = count ? 0 : -1; i >= 0; i = s[i].next) gr_tokens_put(out, s[i].id);
  gr_arena_destroy(a);
}

// ---- Words --------------------------------------------------------------------------------------

static void encode_new(const gr_bpe *b, const char *word, size_t n, const char *spelling,
                       gr_tokens *out) {
  int32_t whole = b->whole ? gr_bpe_find(b, spelling) : -1;
  if (whole >= 0)
    gr_tokens_put(out, whole);
  else
    merge_word(b, word, n, out);
}

static void encode_long(const gr_bpe *b, const char *word, size_t n, gr_tokens *out) {
  gr_arena *a = gr_arena_create();
  char *spelling = gr_arena_alloc(a, 2 * n + 1);
  gr_bpe_spell(word, n, spelling);
  encode_new(b, word, n, spelling, out);
  gr_arena_destroy(a);
}

static void encode_word(const gr_bpe *b, const char *word, size_t n, gr_tokens *out) {
  char spelling[2 * GR_CACHED_WORD + 1];
  if (n > GR_CACHED_WORD) {
    encode_long(b, word, n, out);
    return;
  }
  gr_bpe_spell(word, n, spelling);
  if (gr_bpe_cache_find(b->cache, spelling, out)) return;
  int64_t first = out->n;
  encode_new(b, word, n, spelling, out);
  gr_bpe_cache_put(b->cache, spelling, out->id + first, out->n - first);
}

// Splits a stretch by the pattern number k and those after it, and encodes the words.
static gr_status encode_parts(const gr_bpe *b, int k, const char *s, size_t n, gr_tokens *out) {
  if (k == b->n_splits) {
    enum { TOKENS_A_STEP = 1024 };
    encode_word(b, s, n, out);
    return out->n % TOKENS_A_STEP ? gr_stop_check() : gr_work_step(0);
  }
  const gr_splitter *split = &b->split[k];
  for (size_t offset = 0, begin, end; offset < n; offset = end) {
    GR_TRY(gr_splitter_next(split, s, n, offset, &begin, &end));
    if (begin > offset && !split->drop_others)
      GR_TRY(encode_parts(b, k + 1, s + offset, begin - offset, out));
    if (end > begin && !split->drop_matches)
      GR_TRY(encode_parts(b, k + 1, s + begin, end - begin, out));
  }
  return GR_OK;
}

// ---- Added tokens -------------------------------------------------------------------------------

static const gr_bpe_added *added_at(const gr_bpe_finder *f, const char *s, size_t n) {
  char part[GR_BPE_ADDED + 1];
  uint32_t found;
  if (!f->begins[(unsigned char)*s]) return NULL;
  for (int i = 0; i < f->n_lengths; i++) {
    size_t len = f->lengths[i];
    if (len > n) continue;
    memcpy(part, s, len);
    part[len] = 0;
    if (gr_map_find(&f->index, part, &found)) return f->token[found];
  }
  return NULL;
}

// The character before offset i, of which *len is the length; 0 at the start.
static uint32_t code_before(const char *s, size_t i, size_t *len) {
  *len = 0;
  if (!i) return 0;
  do ++*len;
  while (*len < i && (s[i - *len] & 0xc0) == 0x80);
  return gr_utf8_code(s + i - *len, (int)*len);
}

static uint32_t code_after(const char *s, size_t i, size_t n, size_t *len) {
  *len = i < n ? (size_t)gr_utf8_len(s + i) : 0;
  return i < n ? gr_utf8_code(s + i, (int)*len) : 0;
}

// Where the token's part of the text begins and ends. False: it is a part of a word.
static bool extend(const gr_bpe_added *t, const char *s, size_t n, size_t least, size_t *begin,
                   size_t *end) {
  size_t len;
  if (t->single_word &&
      (gr_is_wordly(code_before(s, *begin, &len)) || gr_is_wordly(code_after(s, *end, n, &len))))
    return false;
  while (t->strip_left && *begin > least && gr_is_white(code_before(s, *begin, &len)))
    *begin -= len;
  while (t->strip_right && *end < n && gr_is_white(code_after(s, *end, n, &len))) *end += len;
  return true;
}

typedef gr_status stretch_encoder(const gr_bpe *, const char *s, size_t n, gr_tokens *out);

// Encodes added tokens, and the stretches between them by `stretch`.
static gr_status encode_between(const gr_bpe *b, const gr_bpe_finder *f, const char *s, size_t n,
                                stretch_encoder *stretch, gr_tokens *out) {
  size_t done = 0;
  for (size_t i = 0; f->n && i < n;) {
    const gr_bpe_added *t = added_at(f, s + i, n - i);
    size_t begin = i, end = i + (t ? strlen(t->text) : 1);
    i = end;
    if (!t || !extend(t, s, n, done, &begin, &end)) continue;
    if (begin > done) GR_TRY(stretch(b, s + done, begin - done, out));
    gr_tokens_put(out, t->id);
    i = done = end;
  }
  return done < n ? stretch(b, s + done, n - done, out) : GR_OK;
}

static gr_status encode_words(const gr_bpe *b, const char *s, size_t n, gr_tokens *out) {
  if (!b->space_first || *s == ' ') return encode_parts(b, 0, s, n, out);
  gr_arena *a = gr_arena_create();
  char *spaced = gr_arena_alloc(a, n + 2);
  *spaced = ' ';
  memcpy(spaced + 1, s, n);
  return gr_arena_end(a, encode_parts(b, 0, spaced, n + 1, out));
}

static gr_status encode_stretch(const gr_bpe *b, const char *s, size_t n, gr_tokens *out) {
  gr_arena *a = gr_arena_create();
  const char *normal = gr_normalize(a, &b->forms, s, &n);
  return gr_arena_end(a,
                      n ? encode_between(b, &b->find[true], normal, n, encode_words, out) : GR_OK);
}

// ---- A text -------------------------------------------------------------------------------------

gr_status gr_bpe_encode(const gr_bpe *b, const char *text, const gr_encode_options *o,
                        gr_tokens *out, const char **bad) {
  size_t n = 0;
  for (int len; text[n]; n += (size_t)len)
    if (!(len = gr_utf8_len(text + n))) {
      *bad = text + n;
      return GR_OK;
    }
  for (int64_t i = 0; o->around && i < b->before.n; i++) gr_tokens_put(out, b->before.id[i]);
  gr_bpe_cache_lock(b->cache);
  gr_status s = n ? encode_between(b, &b->find[false], text, n, encode_stretch, out) : GR_OK;
  gr_bpe_cache_unlock(b->cache);
  for (int64_t i = 0; o->around && i < b->after.n; i++) gr_tokens_put(out, b->after.id[i]);
  return s;
}
