// read.c - a tokenizer from the keys data.tokenizer and data.tokenizer_*; see tokenizer.h.
#include <string.h>
#include "runtime/data/encoding.h"
#include "runtime/data/tokenizer/bpe.h"

enum { MAX_FILE = 1 << 28, MAX_GAP = 1 << 16 };  // bytes; ids that no token has

typedef struct keys {
  const char *path, *pattern;
  gr_conf *special, *template;  // NULL: not given
} keys;

typedef struct bpe_tokenizer {
  gr_tokenizer base;
  gr_bpe *bpe;
} bpe_tokenizer;

static gr_status encode(const gr_tokenizer *t, const char *text, const gr_encode_options *o,
                        gr_tokens *out, const char **bad) {
  return gr_bpe_encode(t->self, text, o, out, bad);
}

static void decode(const gr_tokenizer *t, const int32_t *ids, int64_t n, gr_text *out) {
  gr_bpe_decode(t->self, ids, n, out);
}

static void close_bpe(const gr_tokenizer *t) { gr_bpe_free(((const bpe_tokenizer *)t)->bpe); }

static gr_conf *given(gr_conf *data, const char *key) {
  gr_conf *c = gr_conf_find(data, key);
  if (c) gr_conf_mark(c);
  return c && c->kind != GR_CONF_NULL ? c : NULL;
}

static gr_status read_keys(gr_conf *data, keys *k) {
  GR_TRY(gr_conf_text(data, "tokenizer", NULL, &k->path));
  GR_TRY(gr_conf_text(data, "tokenizer_pattern", NULL, &k->pattern));
  k->special = given(data, "tokenizer_special"), k->template = given(data, "tokenizer_template");
  const gr_conf *alone = !k->pattern ? NULL : gr_conf_find(data, "tokenizer_pattern");
  if (!alone) alone = k->special ? k->special : k->template;
  if (k->path || !alone) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, alone->loc, "this is of data.tokenizer, which is not given"),
      "data.tokenizer=FILE");
}

// ---- What the configuration adds to a file of ranks ---------------------------------------------

static gr_status add_special(gr_bpe *b, gr_loc loc, const char *text, int64_t id) {
  size_t len = strlen(text);
  bool fits = len && len <= GR_BPE_ADDED && id >= 0 && id < b->n + MAX_GAP;
  if (!fits || !gr_bpe_add(b, gr_arena_strdup(b->arena, text), (int32_t)id))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "'%s' cannot be the token %lld", text, (long long)id),
        "special tokens have 1 to %d bytes, and numbers that no other has", GR_BPE_ADDED);
  b->added[b->n_added++] =
      (gr_bpe_added){.text = b->spelling[id], .id = (int32_t)id, .special = true};
  return GR_OK;
}

static gr_status add_specials(gr_bpe *b, const gr_conf *c) {
  int32_t first = b->n;
  bool map = c && c->kind == GR_CONF_MAP;
  if (!c) return GR_OK;
  if (!map && c->kind != GR_CONF_LIST)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "special tokens are a list or a mapping"),
                   "['<|endoftext|>'], or {'<|endoftext|>': 50256}");
  b->added = GR_NEW(b->arena, gr_bpe_added, c->n + 1);
  for (int i = 0; i < c->n; i++) {
    const gr_conf *v = c->items[i];
    if (v->kind != (map ? GR_CONF_INT : GR_CONF_TEXT))
      return gr_fail(GR_ERR_CONFIG, v->loc, "expected %s, and found %s",
                     map ? "the number of a token" : "a token", gr_conf_a_kind(v->kind));
    GR_TRY(add_special(b, v->loc, map ? c->keys[i] : v->text, map ? v->integer : first + i));
  }
  return GR_OK;
}

static gr_status read_template(gr_bpe *b, const gr_conf *c) {
  gr_tokens *out = &b->before;
  if (!c) return GR_OK;
  b->before.n = b->after.n = 0;
  for (int i = 0; c->kind == GR_CONF_LIST && i < c->n; i++) {
    const gr_conf *v = c->items[i];
    const char *text = gr_conf_text_of(v, "");
    int32_t id = gr_bpe_find(b, text);
    if (!strcmp(text, "$"))
      out = &b->after;
    else if (id < 0)
      return gr_hint(gr_fail(GR_ERR_CONFIG, v->loc, "the tokenizer has no token '%s'", text),
                     "a template is tokens and '$', which stands for the text");
    else
      gr_tokens_put(out, id);
  }
  return GR_OK;
}

// ---- The file -----------------------------------------------------------------------------------

static gr_status read_ranks(gr_bpe *b, const keys *k, const char *text, size_t n) {
  const char *pattern = k->pattern ? gr_pattern_named(k->pattern) : gr_pattern_named("gpt2");
  GR_TRY(gr_bpe_read_ranks(k->path, text, n, b));
  GR_TRY(gr_about(gr_splitter_make(b->arena, pattern ? pattern : k->pattern, false, &b->split[0]),
                  "tokenizer_pattern"));
  b->n_splits = 1;
  return add_specials(b, k->special);
}

static gr_status read_json(gr_bpe *b, const keys *k, const char *text, size_t n) {
  if (k->pattern || k->special)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "'%s' names its pattern and special tokens", k->path),
                            k->pattern ? "tokenizer_pattern" : "tokenizer_special"),
                   "remove the key: it is for tiktoken's files of ranks");
  return gr_bpe_read_json(k->path, text, n, b);
}

static gr_status read_file(gr_arena *a, const keys *k, bpe_tokenizer *t) {
  char *text;
  size_t n, mark = 0;
  GR_TRY(gr_file_read(a, k->path, MAX_FILE, &text, &n));
  GR_TRY(gr_encoding_check(k->path, text, n, &mark));
  bool json = text[mark + strspn(text + mark, " \t\r\n")] == '{';
  GR_TRY(json ? read_json(t->bpe, k, text + mark, n - mark)
              : read_ranks(t->bpe, k, text + mark, n - mark));
  GR_TRY(read_template(t->bpe, k->template));
  gr_bpe_finish(t->bpe);
  static const gr_tokenizer_ops ops = {encode, decode, close_bpe};
  t->base = (gr_tokenizer){.ops = &ops,
                           .self = t->bpe,
                           .n = t->bpe->n,
                           .blank = -1,
                           .space = -1,
                           .kind = "tokens of data.tokenizer of its metadata graphrun.config",
                           .lacks = "UTF-8",
                           .file = json ? "tokenizer.json" : "tokenizer.tiktoken",
                           .bytes = text,
                           .n_bytes = n};
  return GR_OK;
}

gr_status gr_tokenizer_read(gr_arena *a, gr_conf *data, const gr_tokenizer **out) {
  keys k;
  *out = NULL;
  GR_TRY(read_keys(data, &k));
  if (!k.path) return GR_OK;
  bpe_tokenizer *t = GR_NEW(a, bpe_tokenizer, 1);
  t->bpe = gr_bpe_make(a);
  gr_status s = gr_about(gr_note(read_file(a, &k, t), GR_NOWHERE, "while reading the tokenizer"),
                         "tokenizer");
  if (s)
    gr_bpe_free(t->bpe);
  else
    *out = &t->base;
  return s;
}
