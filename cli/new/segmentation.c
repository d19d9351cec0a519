// segmentation.c - the generated images of image.c, with masks.
#include "base/port.h"
#include "cli/new/new.h"

enum { COUNT = 60, TEST_COUNT = 10 };

// Images and masks of one part, each in a folder.
static gr_status write_part(gr_arena *a, const char *dir, uint32_t first, uint32_t n) {
  const char *images = gr_arena_printf(a, "%s/images", dir);
  const char *masks = gr_arena_printf(a, "%s/masks", dir);
  gr_status s = gr_make_dirs(images);
  s = s ? s : gr_make_dirs(masks);
  for (uint32_t i = 0; i < n * GR_NEW_SHAPES && !s; i++) {
    gr_arena *scratch = gr_arena_create();
    s = gr_new_write_shape(scratch, images, masks, gr_arena_printf(scratch, "%03u", i),
                           (int)(i % GR_NEW_SHAPES), first + i / GR_NEW_SHAPES);
    gr_arena_destroy(scratch);
  }
  return s;
}

gr_status gr_new_segmentation(gr_arena *a, const char *dir) {
  GR_TRY(write_part(a, dir, 0, COUNT));
  return write_part(a, gr_arena_printf(a, "%s/test", dir), COUNT, TEST_COUNT);
}
