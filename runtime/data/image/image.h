// image.h - images of one size with the names of their classes: the source `image` of data
// (source.h).
//
// Fields: x u8 [height, width, channels]; y i32, the class of the image; class_weight f32
// (labels.h).
#pragma once
#include "runtime/data/image/picture.h"
#include "runtime/data/labels.h"
#include "runtime/data/source.h"

typedef struct gr_image_spec {
  const char *path, *eval_path;  // of a folder or a list; or NULL
  int64_t height, width;         // 0: not given
  gr_picture_resize resize;
  int channels;  // 1, 3 or 4
} gr_image_spec;

typedef struct gr_image_file {
  const char *name, *path;  // as it is listed, and where it is
  int32_t label;            // its class; while they are listed, its place in the order of additions
  gr_loc loc;               // its line, if a list has it
  uint8_t split;            // gr_split
  bool has_weight;
  float weight;  // of the column weight
} gr_image_file;

typedef enum gr_image_skip { GR_IMAGE_OTHER, GR_IMAGE_SKIPS } gr_image_skip;

typedef struct gr_image {
  gr_arena *arena;
  gr_image_spec spec;
  gr_image_file *file;
  uint32_t count, room;
  gr_classes classes;
  bool inputs;  // files to predict, without labels
  bool text;    // names of classes are texts, else integers
  gr_skipped skipped[GR_IMAGE_SKIPS];
} gr_image;

// The functions of the source. Without a configuration, a request's `spec` is a gr_image_spec.
extern const gr_source_ops gr_source_image;

// Lists the images of the folders or lists, and numbers their classes; or the files to predict.
// Images are not opened. GR_ERR_DATA.
GR_MUST_USE gr_status gr_image_list(gr_image *, const gr_source_request *);
