// source.c - the functions of the source `corpus`; see corpus.h.
//
// The text is cut into stretches of `context` tokens, and a sample is a stretch with the token
// after each: y is x moved by one. In training a sample starts anywhere in its stretch.
#include <string.h>
#include "base/rng.h"
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/files.h"

enum { X, Y, LENGTHS };

// ---- Opening ------------------------------------------------------------------------------------

static gr_status too_short(const gr_corpus *c, int64_t tokens, const char *key) {
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                       "the text for %s has %lld tokens, and a sample takes %d and the one after",
                       !strcmp(key, "path") ? "training" : "validation", (long long)tokens,
                       c->spec.context),
               key),
      "more text, or a smaller data.corpus.context");
}

// The stretches of a text of that many tokens, each with a token after it.
static int64_t stretches(const gr_corpus *c, int64_t tokens) {
  return tokens > 0 ? (tokens - 1) / c->spec.context : 0;
}

// Tokens behind the last stretch, but for the one that follows it.
static void count_rest(gr_source_request *r, const gr_names *paths, int64_t tokens) {
  if (tokens > 1)
    gr_omitted_add(r->arena, &r->skipped[GR_CORPUS_REST], (uint64_t)(tokens - 1), GR_NOWHERE,
                   paths->items[paths->n - 1]);
}

static gr_status list_text(gr_corpus *c, gr_source_request *r) {
  int64_t all = c->text[0].n, limit = r->limit ? r->limit : UINT32_MAX / 2;
  bool separate = c->spec.eval.n > 0;
  c->border = separate ? all : all - (int64_t)(r->validation->fraction * (double)all);
  int64_t train = stretches(c, c->border),
          eval = stretches(c, separate ? c->text[1].n : all - c->border);
  if (!train) return too_short(c, c->border, "path");
  if (!eval && separate) return too_short(c, c->text[1].n, "eval_path");
  c->train = (uint32_t)(train < limit ? train : limit);
  c->count = c->train + (uint32_t)(eval < limit ? eval : limit);
  gr_omitted_add(r->arena, r->limited, (uint64_t)(train + eval - c->count), GR_NOWHERE, NULL);
  if (!c->spec.shift) count_rest(r, &c->spec.paths, c->border - train * c->spec.context);
  count_rest(r, separate ? &c->spec.eval : &c->spec.paths,
             (separate ? c->text[1].n : all - c->border) - eval * c->spec.context);
  return GR_OK;
}

// The files are samples, in the place of those that the configuration names.
static gr_status open_inputs(gr_corpus *c, gr_source_request *r) {
  c->spec.paths = (gr_names){GR_NEW(r->arena, const char *, r->n_inputs), r->n_inputs};
  for (int i = 0; i < r->n_inputs; i++) c->spec.paths.items[i] = r->inputs[i];
  c->count = (uint32_t)r->n_inputs;
  GR_TRY(gr_files_there(r->inputs, r->n_inputs));
  GR_TRY(gr_corpus_open_text(r->arena, &c->tokens, &c->spec.paths, NULL, &c->text[0]));
  for (int i = 0; i < r->n_inputs; i++)
    if (!c->text[0].file[i].n)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is empty: nothing can follow", r->inputs[i]);
  r->skipped[GR_CORPUS_LONG].why =
      gr_arena_printf(r->arena, "files of which the last %d tokens are read (data.corpus.context)",
                      c->spec.context);
  for (int i = 0; i < r->n_inputs; i++)
    if (c->text[0].file[i].n > c->spec.context)
      gr_omitted_add(r->arena, &r->skipped[GR_CORPUS_LONG], 1, GR_NOWHERE, r->inputs[i]);
  return GR_OK;
}

static gr_status choose_tokens(gr_corpus *c, const gr_source_request *r) {
  const char *vocab = c->spec.vocab;
  c->tokens = r->tokenizer ? *r->tokenizer : gr_tokenizer_of_bytes();
  if (r->tokenizer || !strcmp(vocab, "bytes")) return GR_OK;
  GR_TRY(gr_vocab_read(r->arena, vocab, -1, &c->vocab));
  c->tokens = gr_tokenizer_of_vocab(&c->vocab);
  return GR_OK;
}

static gr_status open_files(gr_corpus *c, gr_source_request *r) {
  const gr_corpus_spec *s = &c->spec;
  GR_TRY(choose_tokens(c, r));
  c->inputs = r->predicts;
  if (c->inputs) return open_inputs(c, r);
  GR_TRY(gr_source_need_path(r, s->paths.n));
  GR_TRY(gr_about(gr_files_there(s->paths.items, s->paths.n), "path"));
  GR_TRY(gr_about(gr_files_there(s->eval.items, s->eval.n), "eval_path"));
  GR_TRY(gr_corpus_open_text(r->arena, &c->tokens, &s->paths, "path", &c->text[0]));
  GR_TRY(gr_corpus_open_text(r->arena, &c->tokens, &s->eval, "eval_path", &c->text[1]));
  return list_text(c, r);
}

static void corpus_close(void *self) {
  gr_corpus *c = self;
  for (int i = 0; i < 2; i++) gr_corpus_close_text(&c->text[i]);
}

static gr_status corpus_open(gr_source_request *r, void **out) {
  gr_corpus *c = *out = GR_NEW(r->arena, gr_corpus, 1);
  if (r->conf)
    GR_TRY(gr_corpus_read_spec(r->arena, r->conf, r->tokenizer, &c->spec));
  else
    c->spec = *(const gr_corpus_spec *)r->spec;
  return open_files(c, r);
}

static gr_status corpus_check(const void *self) {
  const gr_corpus *c = self;
  GR_TRY(gr_about(gr_corpus_check_text(&c->text[0]), c->inputs ? NULL : "path"));
  return gr_about(gr_corpus_check_text(&c->text[1]), "eval_path");
}

// ---- Metadata -----------------------------------------------------------------------------------

static int corpus_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  int64_t context = ((const gr_corpus *)self)->spec.context;
  out[X] = (gr_field_spec){.name = "x", .dtype = GR_I32, .rank = 1, .dim = {context}};
  out[Y] = (gr_field_spec){.name = "y", .dtype = GR_I32, .rank = 1, .dim = {context}};
  out[LENGTHS] = (gr_field_spec){.name = "lengths", .dtype = GR_I32};
  return 3;
}

static int corpus_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_corpus *c = self;
  out[0] = (gr_metadata){"vocab", c->tokens.n};
  out[1] = (gr_metadata){"context", c->spec.context};
  return 2;
}

static uint32_t corpus_count(const void *self) { return ((const gr_corpus *)self)->count; }

static gr_sample_info corpus_info(const void *self, uint32_t sample) {
  const gr_corpus *c = self;
  uint32_t key[4];
  gr_philox((uint64_t)c->text[0].n << 20 ^ (uint64_t)c->text[1].n, sample, 0, key);
  return (gr_sample_info){.key = (uint64_t)key[0] << 32 | key[1],
                          .split = sample < c->train ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION,
                          .length = 1};
}

// ---- A sample -----------------------------------------------------------------------------------

// Where the tokens of a sample start, and in which text.
static int64_t start_of(const gr_corpus *c, uint32_t sample, const gr_draw *d,
                        const gr_corpus_text **text) {
  int64_t context = c->spec.context;
  *text = &c->text[sample >= c->train && c->spec.eval.n > 0];
  if (sample >= c->train)
    return (c->spec.eval.n ? 0 : c->border) + (int64_t)(sample - c->train) * context;
  int64_t start = sample * context, last = c->border - 1 - context;
  if (!c->spec.shift || !d->augment) return start;
  gr_rng r = gr_rng_make(d->seed, "corpus", d->epoch);
  start += (int64_t)gr_rng_below(&r, d->number, (uint64_t)context);
  return start < last ? start : last;
}

// The last tokens of a file whose continuation is to be predicted.
static void fill_input(const gr_corpus *c, uint32_t sample, gr_row *row) {
  const gr_corpus_file *f = &c->text[0].file[sample];
  int64_t n = f->n < c->spec.context ? f->n : c->spec.context;
  gr_corpus_tokens(&c->text[0], f->first + f->n - n, n, row->field[X]);
  *(int32_t *)row->field[LENGTHS] = (int32_t)n;
}

static void corpus_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                        const gr_draw *draw, gr_row *row) {
  const gr_corpus *c = self;
  const gr_corpus_text *text;
  (void)loaded;
  if (c->inputs) {
    fill_input(c, sample, row);
    return;
  }
  int64_t start = start_of(c, sample, draw, &text);
  gr_corpus_tokens(text, start, c->spec.context, row->field[X]);
  gr_corpus_tokens(text, start + 1, c->spec.context, row->field[Y]);
  *(int32_t *)row->field[LENGTHS] = c->spec.context;
}

static void corpus_name_of(const void *self, uint32_t sample, gr_text *out) {
  const gr_corpus *c = self;
  if (c->inputs)
    gr_text_put(out, c->spec.paths.items[sample]);
  else
    gr_text_printf(out, "window %u", sample);
}

// ---- Texts --------------------------------------------------------------------------------------

static void corpus_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_corpus *c = self;
  gr_tokenizer_decode(&c->tokens, ids, n, out);
}

static void corpus_inspect(const void *self, const gr_sample *samples, uint32_t n, gr_text *out) {
  const gr_corpus *c = self;
  (void)samples, (void)n;
  gr_text_printf(out, "%lld tokens for training, %lld for validation, of %lld kinds\n",
                 (long long)c->border,
                 (long long)(c->spec.eval.n ? c->text[1].n : c->text[0].n - c->border),
                 (long long)c->tokens.n);
}

static void corpus_preprocessing(const void *self, gr_text *out) {
  const gr_corpus *c = self;
  gr_text_printf(out, "the last %d %s of a text, as numbers; zeros behind them, as lengths says",
                 c->spec.context, c->tokens.kind);
}

const gr_source_ops gr_source_corpus = {
    .name = "corpus",
    .sample = "window",
    .inputs = "text files",
    .tokens = true,
    .path_key = "path",
    .project = "text",
    .path_hint = "a file of text, or a list of files",
    .endings = {{".txt", "a text", .text = true}, {".md", "a text", .text = true}},
    .skips = {[GR_CORPUS_REST] = {.why = "tokens at an end of the text that are in no sample",
                                  .of = GR_OMITTED_OTHER},
              [GR_CORPUS_LONG] = {.of = GR_OMITTED_OTHER}},
    .open = corpus_open,
    .close = corpus_close,
    .fields = corpus_fields,
    .count = corpus_count,
    .info = corpus_info,
    .fill = corpus_fill,
    .check = corpus_check,
    .metadata = corpus_metadata,
    .name_of = corpus_name_of,
    .decode = corpus_decode,
    .inspect = corpus_inspect,
    .preprocessing = corpus_preprocessing};
