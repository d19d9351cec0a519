// fuzz_interp.c - any text is an interpolation or an error, and resolving it ends.
#include "compose/compose.h"
#include "compose/interp/interp.h"
#include "fuzz.h"

static const char tree[] =
    "a: 1\nb: {c: [1, x, {d: '${a}'}], e: '${.c}'}\nf: text\ng: null\nh: '${b.e}'\nm: ???\n"
    "self: '${self}'\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  gr_conf *root = NULL, *input = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  gr_status s = gr_conf_parse(a, "tree", tree, &root);
  HOLDS(!s);
  gr_conf_set_text(input, fuzz_text(a, data, size));
  gr_conf_put(a, root, "input", input);
  gr_conf *part = gr_conf_copy(a, root);
  s = gr_conf_resolve(a, part, false);
  gr_status_drop(s);
  s = gr_conf_resolve(a, root, true);
  gr_status_drop(s);
  gr_arena_destroy(a);
  return 0;
}
