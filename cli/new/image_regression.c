// image_regression.c - generated images of shapes, each with how many of its pixels the shape has.
#include "cli/new/new.h"

enum { COUNT = 300, TEST_COUNT = 60 };

static gr_status write_row(gr_arena *a, const char *dir, uint64_t row, gr_text *list) {
  const char *name = gr_arena_printf(a, "%03llu", (unsigned long long)row);
  gr_rng rng = gr_rng_make(row, "image_regression", 0);
  gr_new_shape shape = gr_new_draw_shape(&rng, (int)(row % GR_NEW_SHAPES));
  gr_text_printf(list, "images/%s.ppm,%d\n", name, gr_new_count_pixels(&shape));
  return gr_new_put_shape(a, &shape, &rng, dir, NULL, name);
}

gr_status gr_new_image_regression(gr_arena *a, const char *dir) {
  const gr_new_images images = {"path,pixels\n", write_row, COUNT, TEST_COUNT};
  return gr_new_write_images(a, dir, &images);
}
