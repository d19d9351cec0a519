// image.h - images of one size with the names of their classes: the source `image` of data
// (source.h).
//
// Field: x u8 [height, width, channels]. The classes are those of folders, or of a list.
#pragma once
#include "runtime/data/image/picture.h"
#include "runtime/data/listing.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_image_spec {
  const char *path, *eval_path;  // of a folder or a list; or NULL
  int64_t height, width;         // 0: not given
  gr_picture_resize resize;
  int channels;  // 1, 3 or 4
  bool reduced;  // a large JPEG may be decoded at a fraction of its size (gr_picture_use)
} gr_image_spec;

typedef enum gr_image_skip { GR_IMAGE_OTHER } gr_image_skip;  // of gr_source_ops.skips

typedef struct gr_image {
  gr_listing list;  // the images, each of which is a sample
  gr_image_spec spec;
} gr_image;

// Lists the images of the folders or lists, and numbers their classes; or the files to predict.
// Images are not opened. GR_ERR_DATA.
GR_MUST_USE gr_status gr_image_list(gr_image *, const gr_source_request *);
