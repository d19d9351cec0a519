// transforms.h - the list data.transforms of a data set: read, applied to rows, and kept in
// checkpoints. Private to this folder; transform.h is what a transform implements.
#pragma once
#include "runtime/data/source.h"
#include "runtime/data/transform.h"

typedef struct gr_transform {
  const gr_transform_ops *ops;
  void *self;
  gr_type input, output;  // of a sample's x
  const char *stream;     // of its random numbers
  bool always;            // also for samples that are not trained on
} gr_transform;

typedef struct gr_transforms {
  int field;       // of the source: x
  gr_type source;  // of the source's x
  size_t room;     // bytes of the largest x in between
  gr_transform *items;
  int n, views;  // of the result, data.views: with several, they are its first dimension
  struct gr_transforms *mask;  // those that move the pixels of the mask of x; NULL: it has none
} gr_transforms;

// A row while it is filled: the source writes its x to memory of its own, and so its mask.
typedef struct gr_transform_x {
  char *room[3];  // malloc; the third for what several views begin with
  void *x;        // of the row
} gr_transform_x;
typedef struct gr_transform_row {
  gr_transform_x x, mask;
} gr_transform_row;

// Reads the list, and sets the type of the field x, and that of its mask, to what it makes of it.
// *out is NULL where it is empty. Fails with GR_ERR_CONFIG at the entry, or without a place.
GR_MUST_USE gr_status gr_transforms_open(gr_arena *, gr_conf *list, int views,
                                         gr_field_spec *fields, int n, gr_transforms **out);
// Makes the row's x the source's, cleared, for it to be filled. NULL is fine.
GR_MUST_USE gr_status gr_transforms_begin(const gr_transforms *, gr_row *, gr_transform_row *);
// Writes what becomes of it to the row. draw->augment says whether the sample is trained on.
void gr_transforms_end(const gr_transforms *, const gr_draw *, gr_transform_row *);

// Appends those that apply to every sample: "; then data.transforms: normalize, lineplot". NULL is
// fine.
void gr_transforms_preprocessing(const gr_transforms *, gr_text *out);

// Adds what the last transform makes known of x: height, width, channels and frames.
int gr_transforms_metadata(const gr_transforms *, gr_metadata out[GR_MAX_METADATA], int n);

// The transform after `after` that has statistics, from -1 on; -1: there is none.
int gr_transforms_fitted(const gr_transforms *, int after);
// Adds x of a training sample, which the source has written into the row, to a transform's
// statistics.
void gr_transforms_add(gr_transforms *, int which, gr_transform_row *);
// Appends all statistics as text, bit for bit.
void gr_transforms_save(const gr_transforms *, gr_text *);
// Sets them from that text. GR_ERR_CHECKPOINT: it is not of these transforms.
GR_MUST_USE gr_status gr_transforms_restore(gr_transforms *, const char *text);
void gr_transforms_drop(gr_transform_row *);  // frees a row that is not ended

// What `graphrun data transforms` prints.
void gr_transforms_help(gr_text *);
