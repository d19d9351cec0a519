// fuzz_tokenizer.c - any bytes are a tokenizer or an error; any text is tokens of it or has a place
// that is not UTF-8, and tokens are UTF-8 again.
#include "fuzz_file.h"
#include "runtime/data/tokenizer/tokenizer.h"

const fuzz_budget fuzz_memory = {32 << 20, 4000};

static void encode(gr_arena *a, const gr_tokenizer *t, const char *text) {
  gr_tokens ids = {.arena = a};
  const char *bad;
  gr_text back = gr_text_make(a);
  gr_status s = gr_tokenizer_encode(t, text, &(gr_encode_options){.around = true}, &ids, &bad);
  HOLDS(s || (bad != NULL) == !gr_utf8_valid(text));
  for (int64_t i = 0; i < ids.n; i++) HOLDS(ids.id[i] >= 0 && ids.id[i] < t->n);
  gr_tokenizer_decode(t, ids.id, ids.n, &back);
  HOLDS(!back.chars || gr_utf8_valid(back.chars));
  fuzz_print(s);
}

// The file and the text, with a NUL between them.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  const uint8_t *end = memchr(data, 0, size);
  size_t n = end ? (size_t)(end - data) : size;
  fuzz_file file = fuzz_file_make(data, n);
  const char *text = end ? fuzz_text(a, end + 1, size - n - 1) : "";
  const gr_tokenizer *t = NULL;
  gr_conf *conf;
  gr_status s =
      gr_conf_parse(a, "run.yaml", gr_arena_printf(a, "{tokenizer: %s}", file.path), &conf);
  if (!s) s = gr_tokenizer_read(a, conf, &t);
  if (!s) encode(a, t, text);
  gr_tokenizer_close(t);
  fuzz_print(s);
  fuzz_file_close(&file);
  gr_arena_destroy(a);
  return 0;
}
