// write.c - writes the files of a new project. See new.h.
#include <math.h>
#include "base/output.h"
#include "base/port.h"
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

gr_status gr_new_write_images(gr_arena *a, const char *dir, const gr_new_images *m) {
  const char *images = gr_arena_printf(a, "%s/images", dir);
  gr_text lists[2] = {gr_text_make(a), gr_text_make(a)};
  GR_TRY(gr_make_dirs(images));
  for (int i = 0; i < 2; i++) gr_text_put(&lists[i], m->head);
  for (uint64_t row = 0; row < m->n + m->n_test; row++) {
    gr_arena *scratch = gr_arena_create();
    gr_status s = m->put(scratch, images, row, &lists[row >= m->n]);
    GR_TRY(gr_arena_end(scratch, s));
  }
  GR_TRY(gr_output_write(dir, "data.csv", lists[0].chars, lists[0].len));
  return gr_output_write(dir, "test.csv", lists[1].chars, lists[1].len);
}

static void put_number(gr_text *t, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) gr_text_putn(t, &(char){(char)(value >> (8 * i))}, 1);
}

void gr_new_put_wav(gr_text *t, uint32_t samples) {
  gr_text_put(t, "RIFF"), put_number(t, 36 + 2 * samples, 4), gr_text_put(t, "WAVEfmt ");
  put_number(t, 16, 4), put_number(t, 1, 2), put_number(t, 1, 2), put_number(t, GR_NEW_RATE, 4);
  put_number(t, 2 * GR_NEW_RATE, 4), put_number(t, 2, 2), put_number(t, 16, 2);
  gr_text_put(t, "data"), put_number(t, 2 * samples, 4);
}

void gr_new_put_sample(gr_text *t, double value) {
  put_number(t, (uint32_t)(int32_t)lround(value), 2);
}
