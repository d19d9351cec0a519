// write.c - writes the files of a new project. See new.h.
#include "base/output.h"
#include "cli/new/new.h"

static gr_status write_rows(gr_arena *a, const gr_new_rows *r, const char *dir, const char *name,
                            uint64_t first, uint64_t n) {
  gr_rng rng = gr_rng_make(1, r->stream, 0);
  gr_text t = gr_text_make(a);
  gr_text_put(&t, r->head);
  for (uint64_t row = first; row < first + n; row++) r->put(&t, &rng, row);
  return gr_output_write(dir, gr_arena_printf(a, "%s%s", name, r->ending), t.chars, t.len);
}

gr_status gr_new_write_rows(gr_arena *a, const char *dir, const gr_new_rows *r) {
  GR_TRY(write_rows(a, r, dir, "data", 0, r->n));
  return write_rows(a, r, dir, "test", r->n, r->n_test);
}
