// predict_images.h - outputs that are images, as PNG files: what predict writes with --out=FOLDER/.
#pragma once
#include "runtime/data/dataset.h"

typedef struct gr_predict_images {
  const char *folder;  // with a slash behind it; NULL: outputs are written as numbers
  const char **names;  // of the samples' files, without an ending: each once
  const gr_dataset *data;
} gr_predict_images;

// Whether `out`, of --out, is a folder: a slash is behind it.
bool gr_predict_is_folder(const char *out);
// Names the files of all samples by those that they are of, the same on every rank.
gr_predict_images gr_predict_images_make(gr_arena *, const gr_dataset *, const char *folder);
// Whether an output of that type is an image of each sample: u8 or floats, [n, height, width],
// perhaps with 1 or 3 channels.
bool gr_predict_is_image(const gr_type *);
// Writes a row of it as FOLDER/OUTPUT/NAME.png, and appends that path as JSON. Floats are 0 for
// black to 1. What has the size of x gets that of the sample's file (gr_dataset_resize_back); u8 of
// one channel are classes then. GR_ERR_IO, GR_ERR_DATA.
GR_MUST_USE gr_status gr_predict_image(const gr_predict_images *, const char *output,
                                       const gr_type *, const void *values, int64_t row,
                                       uint32_t sample, gr_text *json);
