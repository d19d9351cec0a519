// bpe_json.c - reads tokenizer.json, the file of Hugging Face's tokenizers (its format: the
// serialisation in github.com/huggingface/tokenizers, tokenizers/src); see bpe.h.
#include <string.h>
#include "base/json.h"
#include "runtime/data/tokenizer/bpe.h"

typedef struct reader {
  const char *path, *text;
  int64_t ids;  // are below it
  gr_bpe *bpe;
  bool byte_level;  // words are spelled by their bytes
} reader;

static gr_loc place_of(const reader *r, int offset) {
  gr_loc loc = {r->path, 1, 1};
  for (const char *p = r->text; p < r->text + offset; p++) {
    loc.col = *p == '\n' ? 1 : loc.col + 1;
    loc.line += *p == '\n';
  }
  return loc;
}
#define BAD(reader, json, ...) gr_fail(GR_ERR_DATA, place_of(reader, (json)->offset), __VA_ARGS__)

static bool is_set(const gr_json *v, const char *name) {
  const gr_json *b = gr_json_get(v, name, GR_JSON_BOOL);
  return b && b->i;
}

// A member of any kind but null; NULL: there is none.
static const gr_json *member(const gr_json *v, const char *name) {
  for (const gr_json *m = v->first; m; m = m->next)
    if (v->kind == GR_JSON_OBJECT && !strcmp(m->name, name))
      return m->kind == GR_JSON_NULL ? NULL : m;
  return NULL;
}

static const char *text_of(const gr_json *v, const char *name) {
  const gr_json *t = gr_json_get(v, name, GR_JSON_TEXT);
  return t ? t->text : "";
}

static bool is_type(const gr_json *v, const char *type) {
  return !strcmp(text_of(v, "type"), type);
}

static gr_status unsupported(const reader *r, const gr_json *v, const char *what) {
  const char *type = text_of(v, "type");
  return gr_hint(
      gr_fail(GR_ERR_UNSUPPORTED, place_of(r, v->offset),
              "the %s of the tokenizer is of the kind '%s', which is not read", what, type),
      "byte-level BPE is read: docs/tokenizers.md lists what may be in the file");
}

// ---- The model ----------------------------------------------------------------------------------

static gr_status check_id(const reader *r, const gr_json *v, const char *token) {
  if (v && v->kind == GR_JSON_INT && v->i >= 0 && v->i < r->ids) return GR_OK;
  gr_loc loc = v ? place_of(r, v->offset) : (gr_loc){r->path, 1, 1};
  return gr_fail(GR_ERR_DATA, loc, "the token '%s' has no number from 0 to %lld", token,
                 (long long)r->ids - 1);
}

static gr_status read_vocab(const reader *r, const gr_json *model) {
  const gr_json *vocab = gr_json_get(model, "vocab", GR_JSON_OBJECT);
  if (!vocab || !vocab->n)
    return BAD(r, model, "the model has no \"vocab\": an object of tokens and their numbers");
  for (const gr_json *v = vocab->first; v; v = v->next) {
    GR_TRY(check_id(r, v, v->name));
    if (!gr_bpe_add(r->bpe, gr_arena_strdup(r->bpe->arena, v->name), (int32_t)v->i))
      return BAD(r, v, "two tokens have the number %d", (int)v->i);
  }
  return GR_OK;
}

// The two tokens of a rule: "a b", or ["a", "b"].
static bool read_pair(gr_arena *a, const gr_json *v, const char **left, const char **right) {
  const gr_json *l = v->first, *r = l ? l->next : NULL;
  *left = *right = NULL;
  if (v->kind == GR_JSON_ARRAY && v->n == 2 && l->kind == GR_JSON_TEXT && r->kind == GR_JSON_TEXT)
    *left = l->text, *right = r->text;
  const char *space = v->kind == GR_JSON_TEXT ? strchr(v->text, ' ') : NULL;
  if (space && !strchr(space + 1, ' '))
    *left = gr_arena_strndup(a, v->text, (size_t)(space - v->text)), *right = space + 1;
  return *left;
}

static gr_status read_merge(const reader *r, gr_arena *a, const gr_json *v, int32_t rank) {
  const char *left, *right;
  if (!read_pair(a, v, &left, &right))
    return BAD(r, v, "a merge is two tokens: \"a b\" or [\"a\", \"b\"]");
  const char *both = gr_arena_printf(a, "%s%s", left, right);
  const char *of[3] = {left, right, both};
  int32_t id[3];
  for (int i = 0; i < 3; i++)
    if ((id[i] = gr_bpe_find(r->bpe, of[i])) < 0)
      return gr_hint(BAD(r, v,
                         "the merge of '%s' and '%s' needs the token '%s', which the "
                         "vocabulary lacks",
                         left, right, of[i]),
                     "the file was cut or edited: take it from where it came from");
  gr_bpe_merge(r->bpe, id[0], id[1], rank, id[2]);
  return GR_OK;
}

static gr_status read_merges(const reader *r, const gr_json *model) {
  const gr_json *merges = gr_json_get(model, "merges", GR_JSON_ARRAY);
  int32_t rank = 0;
  if (!merges)
    return gr_hint(BAD(r, model, "the model has no \"merges\": a list of pairs of tokens"),
                   "BPE needs them; without them it would be bytes");
  for (const gr_json *v = merges->first; v; v = v->next) {
    gr_arena *a = gr_arena_create();
    gr_status s = read_merge(r, a, v, rank++);
    gr_arena_destroy(a);
    if (s) return s;
  }
  return GR_OK;
}

static gr_status read_model(const reader *r, const gr_json *root) {
  const gr_json *m = gr_json_get(root, "model", GR_JSON_OBJECT);
  if (!m)
    return gr_hint(BAD(r, root, "the file has no \"model\""),
                   "it should be the tokenizer.json of Hugging Face's tokenizers");
  if (*text_of(m, "type") && !is_type(m, "BPE")) return unsupported(r, m, "model");
  static const char *const other[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  for (int i = 0; i < 2; i++)
    if (*text_of(m, other[i]))
      return gr_fail(GR_ERR_UNSUPPORTED, place_of(r, m->offset),
                     "the model's \"%s\" is '%s': it is not of bytes", other[i],
                     text_of(m, other[i]));
  if (is_set(m, "byte_fallback"))
    return gr_fail(GR_ERR_UNSUPPORTED, place_of(r, m->offset),
                   "the model's \"byte_fallback\" is true: it is of characters, not of bytes");
  r->bpe->whole = is_set(m, "ignore_merges");
  GR_TRY(read_vocab(r, m));
  GR_TRY(read_merges(r, m));
  const gr_json *unknown = gr_json_get(m, "unk_token", GR_JSON_TEXT);
  if (unknown && *unknown->text) r->bpe->unknown = gr_bpe_find(r->bpe, unknown->text);
  return GR_OK;
}

// ---- What is before the model -------------------------------------------------------------------

static gr_status read_normalizer(const reader *r, const gr_json *v) {
  static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"};
  gr_normal_forms *f = &r->bpe->forms;
  const gr_json *list = is_type(v, "Sequence") ? member(v, "normalizers") : NULL;
  for (const gr_json *i = list ? list->first : NULL; i; i = i->next) GR_TRY(read_normalizer(r, i));
  if (list) return GR_OK;
  for (int i = 0; i < 4; i++)
    if (is_type(v, names[i]) && f->n < GR_MAX_FORMS) {
      f->items[f->n++] = (gr_normal_form)i;
      return GR_OK;
    }
  return unsupported(r, v, "normalizer");
}

static gr_status add_split(const reader *r, const gr_json *v, const char *pattern, bool literal,
                           const char *behavior, bool invert) {
  gr_bpe *b = r->bpe;
  bool removed = !strcmp(behavior, "Removed");
  if (!removed && strcmp(behavior, "Isolated") != 0)
    return gr_fail(GR_ERR_UNSUPPORTED, place_of(r, v->offset),
                   "a split with the behavior '%s' is not read: Isolated and Removed are",
                   behavior);
  if (b->n_splits == GR_MAX_SPLITS)
    return BAD(r, v, "the tokenizer splits texts in more than %d ways", GR_MAX_SPLITS);
  gr_splitter *s = &b->split[b->n_splits];
  GR_TRY(gr_place(gr_splitter_make(b->arena, gr_arena_strdup(b->arena, pattern), literal, s),
                  place_of(r, v->offset)));
  s->drop_matches = removed && !invert, s->drop_others = removed && invert;
  b->n_splits++;
  return GR_OK;
}

static gr_status read_split(const reader *r, const gr_json *v) {
  const gr_json *p = gr_json_get(v, "pattern", GR_JSON_OBJECT);
  const gr_json *regex = p ? gr_json_get(p, "Regex", GR_JSON_TEXT) : NULL;
  const gr_json *literal = p ? gr_json_get(p, "String", GR_JSON_TEXT) : NULL;
  if (!regex && !literal) return BAD(r, v, "the split has no \"pattern\"");
  return add_split(r, v, regex ? regex->text : literal->text, !regex, text_of(v, "behavior"),
                   is_set(v, "invert"));
}

static gr_status read_byte_level(reader *r, const gr_json *v) {
  const gr_json *regex = gr_json_get(v, "use_regex", GR_JSON_BOOL);
  r->byte_level = true;
  r->bpe->space_first |= is_set(v, "add_prefix_space");
  if (regex && !regex->i) return GR_OK;
  return add_split(r, v, gr_pattern_named("gpt2"), false, "Isolated", false);
}

static gr_status read_pre_tokenizer(reader *r, const gr_json *v) {
  const gr_json *list = is_type(v, "Sequence") ? member(v, "pretokenizers") : NULL;
  for (const gr_json *i = list ? list->first : NULL; i; i = i->next)
    GR_TRY(read_pre_tokenizer(r, i));
  if (list) return GR_OK;
  if (is_type(v, "ByteLevel")) return read_byte_level(r, v);
  if (is_type(v, "Split")) return read_split(r, v);
  if (is_type(v, "Digits"))
    return add_split(r, v, is_set(v, "individual_digits") ? "\\p{N}" : "\\p{N}+", false, "Isolated",
                     false);
  return unsupported(r, v, "pre-tokenizer");
}

// ---- What is after it ---------------------------------------------------------------------------

static gr_status put_special(const reader *r, const gr_json *of, const char *name, gr_tokens *out) {
  const gr_json *all = member(of, "special_tokens"), *one = all ? member(all, name) : NULL;
  const gr_json *ids = one ? gr_json_get(one, "ids", GR_JSON_ARRAY) : NULL;
  if (!ids) return BAD(r, of, "the template has no \"special_tokens\" for '%s'", name);
  for (const gr_json *i = ids->first; i; i = i->next) {
    GR_TRY(check_id(r, i, name));
    gr_tokens_put(out, (int32_t)i->i);
  }
  return GR_OK;
}

static gr_status read_template(const reader *r, const gr_json *v) {
  const gr_json *single = gr_json_get(v, "single", GR_JSON_ARRAY);
  gr_tokens *out = &r->bpe->before;
  for (const gr_json *i = single ? single->first : NULL; i; i = i->next) {
    const gr_json *special = member(i, "SpecialToken");
    if (special)
      GR_TRY(put_special(r, v, text_of(special, "id"), out));
    else
      out = &r->bpe->after;
  }
  return GR_OK;
}

static gr_status read_post_processor(const reader *r, const gr_json *v) {
  const gr_json *list = is_type(v, "Sequence") ? member(v, "processors") : NULL;
  for (const gr_json *i = list ? list->first : NULL; i; i = i->next)
    GR_TRY(read_post_processor(r, i));
  if (list || is_type(v, "ByteLevel")) return GR_OK;
  return is_type(v, "TemplateProcessing") ? read_template(r, v)
                                          : unsupported(r, v, "post-processor");
}

static gr_status read_added(const reader *r, const gr_json *v) {
  gr_bpe *b = r->bpe;
  const gr_json *id = gr_json_get(v, "id", GR_JSON_INT);
  const char *text = gr_arena_strdup(b->arena, text_of(v, "content"));
  GR_TRY(check_id(r, id ? id : v, text));
  if (strlen(text) > GR_BPE_ADDED)
    return BAD(r, v, "an added token has at most %d bytes", GR_BPE_ADDED);
  if (gr_bpe_find(b, text) != id->i && !gr_bpe_add(b, text, (int32_t)id->i))
    return BAD(r, v, "the added token '%s' has the number %d, and the vocabulary says otherwise",
               text, (int)id->i);
  b->added[b->n_added++] = (gr_bpe_added){.text = text,
                                          .id = (int32_t)id->i,
                                          .special = is_set(v, "special"),
                                          .normalized = is_set(v, "normalized"),
                                          .single_word = is_set(v, "single_word"),
                                          .strip_left = is_set(v, "lstrip"),
                                          .strip_right = is_set(v, "rstrip")};
  return GR_OK;
}

static gr_status read_root(reader *r, const gr_json *root) {
  const gr_json *added = gr_json_get(root, "added_tokens", GR_JSON_ARRAY);
  const gr_json *normalizer = member(root, "normalizer");
  const gr_json *words = member(root, "pre_tokenizer"), *post = member(root, "post_processor");
  GR_TRY(read_model(r, root));
  r->bpe->added = GR_NEW(r->bpe->arena, gr_bpe_added, (added ? added->n : 0) + 1);
  for (const gr_json *v = added ? added->first : NULL; v; v = v->next) GR_TRY(read_added(r, v));
  if (normalizer) GR_TRY(read_normalizer(r, normalizer));
  if (words) GR_TRY(read_pre_tokenizer(r, words));
  if (!r->byte_level)
    return gr_fail(GR_ERR_UNSUPPORTED, place_of(r, words ? words->offset : root->offset),
                   "the tokenizer is not byte-level: its \"pre_tokenizer\" has no ByteLevel");
  return post ? read_post_processor(r, post) : GR_OK;
}

gr_status gr_bpe_read_json(const char *path, const char *text, size_t n, gr_bpe *out) {
  const gr_json *root;
  gr_json_error why;
  reader r = {path, text, n < GR_BPE_TOKENS ? (int64_t)n : GR_BPE_TOKENS, out, false};
  gr_arena *a = gr_arena_create();
  gr_status s = GR_OK;
  if (!gr_json_read(a, text, n, &root, &why))
    s = gr_fail(GR_ERR_DATA, (gr_loc){path, why.line, why.col}, "%s, and found %s", why.why,
                why.found);
  if (!s) s = read_root(&r, root);
  return gr_arena_end(a, s);
}
