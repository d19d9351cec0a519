// write.c - writes the files of a new project. See new.h.
#include "base/output.h"
#include "cli/new/new.h"

gr_status gr_new_write(const char *dir, const char *name, const void *data, size_t bytes) {
  return gr_output_write(dir, name, data, bytes);
}

enum { ROWS = 600, TEST_ROWS = 100 };

static gr_status write_rows(gr_arena *a, const gr_rng *rng, const char *dir, const char *name,
                            const char *head, gr_new_row *put, uint64_t first, uint64_t n) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s\n", head);
  for (uint64_t row = first; row < first + n; row++) put(&t, rng, row);
  return gr_new_write(dir, name, t.chars, t.len);
}

gr_status gr_new_write_tables(gr_arena *a, const char *dir, const char *stream, const char *head,
                              gr_new_row *put) {
  gr_rng rng = gr_rng_make(1, stream, 0);
  GR_TRY(write_rows(a, &rng, dir, "data.csv", head, put, 0, ROWS));
  return write_rows(a, &rng, dir, "test.csv", head, put, ROWS, TEST_ROWS);
}
