// new_masks.c - a project for a folder of images beside one of masks. See new_images.h.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "base/work.h"
#include "cli/new_images.h"
#include "runtime/data/file_list.h"
#include "runtime/data/image/image.h"

enum { VALUES = 256, IGNORED = 255, MAX_READ = 1000 };

static bool has_images(gr_arena *a, const char *dir) {
  gr_names files = {0};
  gr_status_drop(gr_file_list_tree(a, dir, &files));
  int i = 0;
  while (i < files.n && gr_source_of_file(files.items[i], NULL) != &gr_source_image) i++;
  return i < files.n;
}

// The folder within a folder that has one of these names, and images; NULL: there is none.
static const char *find_folder(gr_arena *a, const char *path, const char *const *words) {
  int n;
  const char **names = gr_list_dir(a, path, &n);
  for (; *words; words++)
    for (int i = 0; i < n; i++) {
      const char *inner = gr_arena_printf(a, "%s/%s", path, names[i]);
      if (!strcasecmp(names[i], *words) && gr_is_dir(inner) && has_images(a, inner)) return inner;
    }
  return NULL;
}

static gr_status see_values(const char *path, gr_picture p, bool seen[VALUES]) {
  for (int64_t i = 0; i < p.height * p.width && p.channels == 1; i++) seen[p.pixels[i]] = true;
  free(p.pixels);
  if (p.channels == 1) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "the mask '%s' has %d channels", path, p.channels),
      "the value of a pixel is its class: gray, or a PNG with a palette; colours become values by "
      "a table of your own");
}

static gr_status read_mask(const char *path, bool seen[VALUES]) {
  gr_picture p;
  GR_TRY(gr_picture_read(path, &(gr_picture_use){.values = true}, &p));
  return see_values(path, p, seen);
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

static void set_values(gr_new_own *o, bool seen[VALUES], uint32_t n) {
  uint32_t classes;
  gr_new_set(o, "mask_values", values_of(o->arena, seen, &classes));
  gr_new_set(o, "size", "64");
  gr_text_printf(&o->said, "images with %u masks, of %u classes\n", n, classes);
  gr_new_set_classes(o, classes);
}

// A folder of images beside one of their masks.
typedef struct pair {
  const char *images, *masks;  // NULL: there is none
} pair;

static pair find_pair(gr_arena *a, const char *path) {
  static const char *const of_images[] = {"images", "image", "imgs", "img", "JPEGImages", NULL};
  static const char *const of_masks[] = {"masks",      "mask",  "annotations",       "labels",
                                         "annotation", "label", "SegmentationClass", NULL};
  return (pair){find_folder(a, path, of_images), find_folder(a, path, of_masks)};
}

// The pairs in the folders of splits: train/images and train/masks.
static void find_split_pairs(gr_arena *a, const char *path, pair pairs[GR_TABLE_ANY + 1]) {
  int n;
  const char **names = gr_list_dir(a, path, &n);
  for (int i = 0; i < n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", path, names[i]);
    gr_table_use use = gr_file_list_use(names[i]);
    if (use != GR_TABLE_ANY && gr_is_dir(inner)) pairs[use] = find_pair(a, inner);
  }
}

// The mask of an image, as training looks for it; NULL: there is none.
static const char *find_mask(gr_arena *a, const pair *p, const char *image) {
  static const char *const endings[] = {".png", "_mask.png", ".pgm", ".npy"};
  const char *within = image + strlen(p->images), *dot = strrchr(within, '.');
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const char *mask =
        gr_arena_printf(a, "%s%.*s%s", p->masks, (int)(dot - within), within, endings[i]);
    if (gr_is_file(mask)) return mask;
  }
  return NULL;
}

// Of images of which some have no masks, as VOC's, those that have are listed; where all have, or
// none, training looks for them.
static gr_status list_masked(gr_new_own *o, const pair *p) {
  gr_text list = gr_text_make(o->arena);
  gr_names files;
  int without = 0, with = 0;
  GR_TRY(gr_file_list_tree(o->arena, p->images, &files));
  gr_text_put(&list, "path,mask\n");
  for (int i = 0; i < files.n; i++) {
    if (gr_source_of_file(files.items[i], NULL) != &gr_source_image) continue;
    const char *mask = find_mask(o->arena, p, files.items[i]);
    without += !mask, with += mask != NULL;
    if (!mask) continue;
    gr_new_put_cell(&list, "", files.items[i]), gr_new_put_cell(&list, ",", mask);
    gr_text_put(&list, "\n");
  }
  if (!with || !without) return GR_OK;
  o->lines_file = "masked.csv", o->lines = list.chars;
  gr_new_name(o, "path", o->lines_file);
  gr_new_drop(o, "masks");
  gr_text_printf(&o->said, "%d image%s without a mask left out\n", without, gr_text_s(without));
  return GR_OK;
}

gr_status gr_new_find_masks(gr_new_own *o, const char *path, bool *found) {
  pair train = find_pair(o->arena, path), pairs[GR_TABLE_ANY + 1] = {{0}};
  if (!train.images || !train.masks)
    find_split_pairs(o->arena, path, pairs), train = pairs[GR_TABLE_TRAINS];
  const pair *test = &pairs[GR_TABLE_OTHER];
  const pair *other = pairs[GR_TABLE_VALIDATES].masks ? &pairs[GR_TABLE_VALIDATES] : test;
  bool seen[VALUES] = {false};
  int n;
  *found = false;
  if (!train.images || !train.masks) return GR_OK;
  GR_TRY(find_values(o->arena, train.masks, seen, &n));
  *found = true;
  gr_new_begin(o, "segmentation", "path", train.images);
  gr_new_name(o, "masks", train.masks);
  set_values(o, seen, (uint32_t)n);
  if (!other->images || !other->masks) return list_masked(o, &train);
  gr_new_set_evaluation(o, "path", other->images);
  gr_new_add(o, "masks",
             gr_arena_printf(o->arena, "eval_masks: %s   # of the images for validation",
                             gr_new_quoted(o, other->masks)));
  gr_text_printf(&o->said, "for validation: '%s'\n", other->images);
  if (other != test && test->images) gr_text_printf(&o->said, "not used: '%s'\n", test->images);
  return GR_OK;
}

// ---- In Parquet files ---------------------------------------------------------------------------

static gr_status read_packed(const gr_packed *p, bool seen[VALUES]) {
  gr_status s = GR_OK;
  for (int64_t row = 0; row < p->file.rows && p->first + row < MAX_READ && !s; row++) {
    gr_packed_file f;
    gr_picture mask;
    s = gr_packed_read(p, row, p->file.path, &f);
    s = s ? s
          : gr_picture_decode(p->file.path, f.bytes.first, f.bytes.n,
                              &(gr_picture_use){.values = true}, &mask);
    s = s ? s : see_values(p->file.path, mask, seen);
    s = gr_packed_end(&f, s);
  }
  return s;
}

gr_status gr_new_packed_masks(gr_new_own *o, const gr_csv *t, bool *found) {
  enum { KEPT = 16 << 20 };
  bool seen[VALUES] = {false};
  gr_names files;
  int opened = 0;
  uint32_t rows;
  GR_TRY(gr_file_list_match(o->arena, t->path, &files));
  gr_packed *packed = GR_NEW(o->arena, gr_packed, files.n);
  gr_kept_pages *kept = gr_kept_open(KEPT);
  if (!kept) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read masks");
  gr_status s = gr_packed_open_all(o->arena, files.items, files.n, &gr_image_packed_masks, kept,
                                   packed, &opened, &rows);
  *found = !s;
  gr_status_drop(s);  // there are none
  s = GR_OK;
  for (int i = 0; i < files.n && *found && !s; i++) s = read_packed(&packed[i], seen);
  gr_kept_close(kept);
  for (int i = 0; i < opened; i++) gr_packed_close(&packed[i]);
  if (s || !*found) return s;
  gr_new_begin(o, "segmentation", "path", t->path);
  gr_new_drop(o, "masks");
  set_values(o, seen, rows);
  return GR_OK;
}
