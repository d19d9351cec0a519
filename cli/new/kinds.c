// kinds.c - the table of starting folders. See new.h.
#include "base/output.h"
#include "cli/new/new.h"

const char *const gr_new_names[GR_NEW_FILES] = {"config.yaml", "graph.yaml", "hook.lua",
                                                "README.md"};

// Their texts are in a file that CMake generates.
#define GR_NEW_KIND(name, doc) extern const char *const gr_new_texts_##name[];
#include "cli/new/kinds.def"
#undef GR_NEW_KIND

const gr_new_kind gr_new_kinds[] = {
#define GR_NEW_KIND(name, doc) {#name, doc, gr_new_texts_##name, gr_new_##name},
#include "cli/new/kinds.def"
#undef GR_NEW_KIND
    {0}};

gr_status gr_new_write(const char *dir, const char *name, const void *at, size_t bytes) {
  return gr_output_write(dir, name, at, bytes);
}

enum { ROWS = 600, TEST_ROWS = 100 };

static gr_status write_rows(gr_arena *a, const gr_rng *rng, const char *dir, const char *name,
                            const char *head, gr_new_row *put, uint64_t from, uint64_t n) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s\n", head);
  for (uint64_t row = from; row < from + n; row++) put(&t, rng, row);
  return gr_new_write(dir, name, t.chars, t.len);
}

gr_status gr_new_write_tables(gr_arena *a, const char *dir, const char *stream, const char *head,
                              gr_new_row *put) {
  gr_rng rng = gr_rng_make(1, stream, 0);
  GR_TRY(write_rows(a, &rng, dir, "data.csv", head, put, 0, ROWS));
  return write_rows(a, &rng, dir, "test.csv", head, put, ROWS, TEST_ROWS);
}
