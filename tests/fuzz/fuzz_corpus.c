// fuzz_corpus.c - any bytes are a vocabulary or an error; a text has tokens of it, which decode to
// the text where all of it is in the vocabulary.
#include "fuzz_file.h"
#include "runtime/data/corpus/corpus.h"

const fuzz_budget fuzz_memory = {4 << 20, 1000};

static void read_text(gr_arena *a, const gr_tokenizer *t, const char *path) {
  gr_corpus_text text = {0};
  gr_names paths = {&path, 1};
  gr_status s = gr_corpus_open_text(a, t, &paths, "path", &text);
  int32_t *ids = GR_NEW(a, int32_t, text.n + 1);
  if (!s) gr_corpus_tokens(&text, 0, text.n, ids);
  for (int64_t i = 0; i < text.n && !s; i++) HOLDS(ids[i] >= 0 && ids[i] < t->n);
  gr_corpus_close_text(&text);
  fuzz_print(s);
}

// The vocabulary and the text, with a NUL between them.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  const uint8_t *end = memchr(data, 0, size);
  size_t n = end ? (size_t)(end - data) : size, rest = end ? size - n - 1 : size;
  fuzz_file words = fuzz_file_make(data, n);
  fuzz_file text = fuzz_file_make(end ? end + 1 : data, rest);
  gr_vocab v = {0};
  gr_tokenizer bytes = gr_tokenizer_of_bytes(), symbols;
  gr_status s = gr_vocab_read(a, words.path, -1, &v);
  if (!s) symbols = gr_tokenizer_of_vocab(&v), read_text(a, &symbols, text.path);
  read_text(a, &bytes, text.path);
  fuzz_print(s);
  fuzz_file_close(&words), fuzz_file_close(&text);
  gr_arena_destroy(a);
  return 0;
}
