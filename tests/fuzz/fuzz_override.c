// fuzz_override.c - any text is an override or an error; a value is written so that it parses
// to the same.
#include "compose/override/override.h"
#include "fuzz.h"

static void check_value(gr_arena *a, const gr_conf *value) {
  gr_text t = gr_text_make(a);
  gr_override_value again;
  gr_value_write(&t, value);
  if (!*t.chars) return;  // an empty text is written as nothing
  gr_status s = gr_value_parse(a, t.chars, (gr_loc){"output", 1, 1}, &again);
  if (!s) HOLDS(again.one || again.many);
  gr_status_drop(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  gr_override o;
  gr_conf *list = NULL;
  gr_status s = gr_override_parse(a, fuzz_text(a, data, size), 1, &o);
  if (!s && o.value.one) check_value(a, o.value.one);
  if (!s && o.value.many) s = gr_sweep_list(a, o.value.many, o.loc, NULL, 0, &list);
  gr_status_drop(s);
  gr_arena_destroy(a);
  return 0;
}
