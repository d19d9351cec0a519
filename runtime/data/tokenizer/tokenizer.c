// tokenizer.c - see tokenizer.h.
#include "runtime/data/tokenizer/tokenizer.h"

// Those of a corpus are gigabytes: the room that they have outgrown does not stay in the arena.
void gr_tokens_put(gr_tokens *t, int32_t id) {
  if (t->n == t->cap) {
    size_t used = (size_t)t->n * sizeof id;
    t->cap = 2 * t->cap + 16;
    t->id = gr_arena_resize(t->arena, t->id, used, (size_t)t->cap * sizeof id);
  }
  t->id[t->n++] = id;
}

// ---- Bytes --------------------------------------------------------------------------------------

static gr_status bytes_encode(const gr_tokenizer *t, const char *text, const gr_encode_options *o,
                              gr_tokens *out, const char **bad) {
  (void)t, (void)o, (void)bad;
  for (const char *p = text; *p; p++) gr_tokens_put(out, (unsigned char)*p);
  return GR_OK;
}

static void bytes_decode(const gr_tokenizer *t, const int32_t *ids, int64_t n, gr_text *out) {
  (void)t;
  for (int64_t i = 0; i < n; i++) gr_text_putn(out, (char[]){(char)ids[i]}, 1);
}

gr_tokenizer gr_tokenizer_of_bytes(void) {
  static const gr_tokenizer_ops ops = {bytes_encode, bytes_decode, NULL};
  return (gr_tokenizer){.ops = &ops, .n = 256, .blank = -1, .space = ' ', .kind = "bytes in UTF-8"};
}

// ---- Symbols ------------------------------------------------------------------------------------

static gr_status symbols_encode(const gr_tokenizer *t, const char *text, const gr_encode_options *o,
                                gr_tokens *out, const char **bad) {
  int32_t *ids, n;
  gr_vocab_encode(out->arena, t->self, text, o->drop, &ids, &n, bad);
  if (!out->n) *out = (gr_tokens){out->arena, ids, n, n};  // not copied: a text may be large
  for (int32_t i = 0; out->id != ids && i < n; i++) gr_tokens_put(out, ids[i]);
  return GR_OK;
}

static void symbols_decode(const gr_tokenizer *t, const int32_t *ids, int64_t n, gr_text *out) {
  gr_vocab_decode(t->self, ids, (size_t)n, out);
}

gr_tokenizer gr_tokenizer_of_vocab(const gr_vocab *v) {
  static const gr_tokenizer_ops ops = {symbols_encode, symbols_decode, NULL};
  uint32_t space;
  bool spaced = gr_map_find(&v->index, " ", &space);
  return (gr_tokenizer){.ops = &ops,
                        .self = v,
                        .kind = "symbols of its vocabulary, by their lines in its file",
                        .n = v->n,
                        .blank = v->blank,
                        .space = spaced ? (int32_t)space : -1,
                        .lacks = "in the vocabulary"};
}

// ---- Any ----------------------------------------------------------------------------------------

gr_status gr_tokenizer_encode(const gr_tokenizer *t, const char *text, const gr_encode_options *o,
                              gr_tokens *out, const char **bad) {
  *bad = NULL;
  return t->ops->encode(t, text, o, out, bad);
}

void gr_tokenizer_decode(const gr_tokenizer *t, const int32_t *ids, int64_t n, gr_text *out) {
  t->ops->decode(t, ids, n, out);
}

void gr_tokenizer_close(const gr_tokenizer *t) {
  if (t && t->ops->close) t->ops->close(t);
}
