// images.h - small images in files, and the source `image` that reads them.
#pragma once
#include <sys/stat.h>
#include "runtime/data/image/image.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

enum { H = 2, W = 3 };

typedef struct images {
  gr_image_spec spec;
  gr_dataset_options options;
} images;

// Gray images of H x W pixels.
static inline images of_path(const char *path) {
  return (images){.spec = {fixture_path("%s", path), NULL, H, W, GR_PICTURE_STRETCH, 1},
                  .options = {.n_buckets = 1, .cache_bytes = 1 << 20}};
}

// Opens the data set.
static inline gr_status open_images(const images *m, gr_dataset **out) {
  return gr_dataset_create(&gr_source_image, &m->spec, &m->options, out);
}

// The source of a data set of images.
static inline const gr_image *of_set(const gr_dataset *d) { return d->self; }

// A gray image of one value, or of `width` pixels that count from it.
static inline void save(const char *name, int width, int first) {
  unsigned char all[256];
  int n = snprintf((char *)all, 64, "P5\n%d %d\n255\n", width, H);
  for (int i = 0; i < width * H; i++) all[n + i] = (unsigned char)(first + i);
  fixture_bytes(fixture_path("%s", name), all, (size_t)(n + width * H));
}

// Makes a folder beside the test's files.
static inline void make_folder(const char *name) {
  CHECK(!mkdir(fixture_path("%s", name), 0777), "cannot make the folder %s", name);
}

// Opens a loader, and takes its first batch.
static inline void first_batch(gr_dataset *d, gr_split split, gr_loader **l, const gr_batch **b) {
  gr_loader_spec spec = {.split = split, .batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1};
  MUST(gr_loader_open(d, &spec, l));
  MUST(gr_loader_next(*l, b));
}
