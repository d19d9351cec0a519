// new_masks.c - a project for a folder of images beside one of masks. See new_images.h.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "base/work.h"
#include "cli/new_images.h"
#include "runtime/data/file_list.h"
#include "runtime/data/image/picture.h"

enum { VALUES = 256, IGNORED = 255, MAX_READ = 1000 };

// The folder within a folder that has one of these names; NULL: there is none.
static const char *find_folder(gr_arena *a, const char *path, const char *const *words) {
  int n;
  const char **names = gr_list_dir(a, path, &n);
  for (; *words; words++)
    for (int i = 0; i < n; i++) {
      const char *inner = gr_arena_printf(a, "%s/%s", path, names[i]);
      if (!strcasecmp(names[i], *words) && gr_is_dir(inner)) return inner;
    }
  return NULL;
}

static gr_status read_mask(const char *path, bool seen[VALUES]) {
  gr_picture p;
  const gr_picture_use use = {.values = true};
  GR_TRY(gr_picture_read(path, &use, &p));
  int channels = p.channels;
  for (int64_t i = 0; i < p.height * p.width && channels == 1; i++) seen[p.pixels[i]] = true;
  free(p.pixels);
  if (channels == 1) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "the mask '%s' has %d channels", path, channels),
      "the value of a pixel is its class: gray, or a PNG with a palette; colours become values by "
      "a table of your own");
}

// The values of the first masks; *n: how many masks there are.
static gr_status find_values(gr_arena *a, const char *masks, bool seen[VALUES], int *n) {
  gr_names files;
  GR_TRY(gr_file_list_tree(a, masks, &files));
  *n = 0;
  for (int i = 0; i < files.n; i++) {
    if (gr_source_of_file(files.items[i], NULL) != &gr_source_image) continue;
    GR_TRY(gr_work_step(0));
    if (++*n <= MAX_READ) GR_TRY(read_mask(files.items[i], seen));
  }
  return GR_OK;
}

// As data.image.mask_values has them: a number where they are 0, 1, ..., else a list. 255 is a
// class only beside one other: it marks what is not counted.
static const char *values_of(gr_arena *a, bool seen[VALUES], uint32_t *classes) {
  gr_text list = gr_text_make(a);
  bool counted = true;
  *classes = 0;
  for (int v = 0; v < VALUES; v++) *classes += seen[v];
  if (*classes > 2 && seen[IGNORED]) seen[IGNORED] = false, --*classes;
  for (int v = 0; v < VALUES; v++) {
    if (!seen[v]) continue;
    counted &= v < (int)*classes;
    gr_text_printf(&list, "%s%d", list.len ? ", " : "[", v);
  }
  return counted ? gr_arena_printf(a, "%u", *classes) : gr_arena_printf(a, "%s]", list.chars);
}

gr_status gr_new_find_masks(gr_new_own *o, const char *path, bool *found) {
  static const char *const of_images[] = {"images", "image", "imgs", "img", "JPEGImages", NULL};
  static const char *const of_masks[] = {"masks",      "mask",  "annotations",       "labels",
                                         "annotation", "label", "SegmentationClass", NULL};
  const char *images = find_folder(o->arena, path, of_images);
  const char *masks = find_folder(o->arena, path, of_masks);
  bool seen[VALUES] = {false};
  uint32_t classes;
  int n;
  *found = false;
  if (!images || !masks) return GR_OK;
  GR_TRY(find_values(o->arena, masks, seen, &n));
  if (!n) return GR_OK;
  const char *values = values_of(o->arena, seen, &classes);
  gr_new_begin(o, "segmentation", "path", images);
  gr_new_name(o, "masks", masks);
  gr_new_set(o, "mask_values", values);
  gr_new_set(o, "size", "64");
  gr_text_printf(&o->said, "images with %d masks, of %u classes\n", n, classes);
  gr_new_set_classes(o, classes);
  *found = true;
  return GR_OK;
}
