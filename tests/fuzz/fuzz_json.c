// fuzz_json.c - any bytes are a JSON value or an error with its place; every value can be reached.
#include "base/json.h"
#include "fuzz.h"
#include "runtime/data/labels.h"

const fuzz_budget fuzz_memory = {1 << 20, 400};

static int count(const gr_json *v) {
  int n = 1;
  for (const gr_json *e = v->first; e; e = e->next) n += count(e);
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  char *text = fuzz_text(a, data, size);
  size_t n = strlen(text);
  const gr_json *v = NULL;
  gr_json_error why;
  bool read = gr_json_read(a, text, n, &v, &why);
  HOLDS(read ? v && (size_t)count(v) <= n : !v && why.line > 0 && why.col > 0 && why.why);
  if (read) (void)gr_names_recorded(a, v, "classes");
  gr_arena_destroy(a);
  return 0;
}
