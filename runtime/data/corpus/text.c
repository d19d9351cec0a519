// text.c - the files of a text as one sequence of tokens; see corpus.h.
#include <assert.h>
#include <string.h>
#include "base/stop.h"
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/encoding.h"

enum { MAX_BYTES = 1 << 30 };  // of a file that is cut into tokens of a vocabulary

static gr_status no_token(const gr_tokenizer *t, const char *path, const char *text,
                          const char *bad) {
  int line = 1, col = 1;
  for (const char *p = text; p < bad; p++) {
    col = *p == '\n' ? 1 : col + 1;
    line += *p == '\n';
  }
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){path, line, col}, "what follows here is not %s", t->lacks),
      "add it to the file of data.corpus.vocab, or convert the text to UTF-8; "
      "data.corpus.vocab=bytes takes any file");
}

// `tokens` are made of the text, which is in an arena of its own.
static gr_status read_tokens(gr_arena *a, const gr_tokenizer *t, const char *path,
                             gr_tokens *tokens) {
  char *text;
  const char *bad;
  size_t bytes, mark = 0;
  GR_TRY(gr_file_read(a, path, MAX_BYTES, &text, &bytes));
  GR_TRY(gr_encoding_check(path, text, bytes, &mark));
  if (memchr(text, 0, bytes))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' holds a zero byte: it is no text", path),
                   "data.corpus.vocab=bytes takes any file");
  GR_TRY(gr_tokenizer_encode(t, text + mark, &(gr_encode_options){0}, tokens, &bad));
  GR_TRY(gr_stop_check());
  return bad ? no_token(t, path, text, bad) : GR_OK;
}

static gr_status read_ids(gr_arena *a, const gr_tokenizer *t, const char *path, gr_corpus_file *f) {
  gr_tokens tokens = {.arena = a};
  gr_arena *scratch = gr_arena_create();
  gr_status s = gr_arena_end(scratch, read_tokens(scratch, t, path, &tokens));
  f->ids = tokens.id, f->n = tokens.n;
  return s;
}

static gr_status open_file(gr_arena *a, const gr_tokenizer *t, const char *path,
                           gr_corpus_file *f) {
  if (t->lacks) return read_ids(a, t, path, f);
  GR_TRY(gr_mapping_open(path, &f->map));
  f->n = (int64_t)f->map.bytes;
  return GR_OK;
}

gr_status gr_corpus_open_text(gr_arena *a, const gr_tokenizer *tokens, const gr_names *paths,
                              const char *key, gr_corpus_text *t) {
  *t = (gr_corpus_text){.file = GR_NEW(a, gr_corpus_file, paths->n + 1)};
  for (; t->n_files < paths->n; t->n_files++) {
    gr_corpus_file *f = &t->file[t->n_files];
    *f = (gr_corpus_file){.first = t->n};
    GR_TRY(gr_about(open_file(a, tokens, paths->items[t->n_files], f), key));
    t->n += f->n;
  }
  return GR_OK;
}

void gr_corpus_close_text(gr_corpus_text *t) {
  for (int i = 0; i < t->n_files; i++) gr_mapping_close(&t->file[i].map);
}

gr_status gr_corpus_check_text(const gr_corpus_text *t) {
  for (int i = 0; i < t->n_files; i++) GR_TRY(gr_mapping_check(&t->file[i].map));
  return GR_OK;
}

void gr_corpus_tokens(const gr_corpus_text *t, int64_t first, int64_t n, int32_t *out) {
  int i = 0;
  assert(first >= 0 && first + n <= t->n);
  while (i < t->n_files - 1 && first >= t->file[i].first + t->file[i].n) i++;
  for (int64_t k = 0; k < n; k++) {
    while (first + k >= t->file[i].first + t->file[i].n) i++;
    const gr_corpus_file *f = &t->file[i];
    out[k] = f->ids ? f->ids[first + k - f->first] : f->map.data[first + k - f->first];
  }
}
