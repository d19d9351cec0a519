// fuzz_pickle.c - any bytes are a pickle or an error; every element of its arrays can be read.
#include "fuzz.h"
#include "runtime/data/table/pickle.h"

const fuzz_budget fuzz_memory = {1 << 20, 1000};

enum { DEPTH = 8, ELEMENTS = 1000 };

static void read_all(const gr_pickle *v, int depth) {
  if (v->kind == GR_PICKLE_TEXT) HOLDS(strlen(v->text) <= v->len);
  for (int64_t i = 0; v->kind == GR_PICKLE_ARRAY && v->array.at && i < v->array.count; i++) {
    int64_t whole;
    if (i == ELEMENTS) i = v->array.count - 1;
    gr_array_integer(&v->array, i, &whole);
    gr_array_number(&v->array, i);
  }
  for (size_t i = 0; depth && i < v->n; i++) read_all(v->items[i], depth - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  gr_pickle *v = NULL;
  gr_status s = gr_pickle_read(a, "a.pkl", data, size, &v);
  HOLDS(s || v);
  if (!s) read_all(v, DEPTH);
  if (!s) gr_pickle_member(v, "X");
  fuzz_print(s);
  gr_arena_destroy(a);
  return 0;
}
