// transform.h - what changes the x of a sample between its source and the batch: augmentation of
// training samples, and normalization. data.transforms lists the transforms of a run.
//
// A transform is one row of transforms.def and one file transform/NAME.c, which defines the
// constant gr_transform_NAME. It works on the source's field x, u8 or f32, whose rank says what it
// is:
//
//   1  [c]                          a row
//   2  [t, c]                       a series
//   3  [height, width, c]           an image
//   4  [frames, height, width, c]   a video, all of whose frames are changed alike
//
// In training every transform is applied, with random numbers that depend only on the seed, the
// epoch, the number of the sample and the place in the list: they are the same on any number of
// ranks and workers. To other samples, those of evaluations and predictions, only transforms are
// applied that change x's type or set `always`, and they get no random numbers: a random crop
// becomes one of the centre.
#pragma once
#include "base/rng.h"
#include "compose/schema/schema.h"
#include "ir/graph.h"

enum { GR_MAX_TRANSFORMS = 32 };

// The random numbers of one transform of one sample: those of index `first` to `first` + 2^32 - 1.
typedef struct gr_transform_draw {
  gr_rng rng;
  uint64_t first;
} gr_transform_draw;

// Random number i of the sample, in [0, 1).
static inline double gr_transform_uniform(const gr_transform_draw *d, uint32_t i) {
  return gr_rng_uniform(&d->rng, d->first + i);
}
// Of mean 0 and deviation 1. The same index gives another number than gr_transform_uniform's.
static inline double gr_transform_normal(const gr_transform_draw *d, uint32_t i) {
  return gr_rng_normal(&d->rng, d->first + i);
}
// Random number i of the sample, in [low, high).
static inline double gr_transform_between(const gr_transform_draw *d, uint32_t i, double low,
                                          double high) {
  return low + (high - low) * gr_transform_uniform(d, i);
}

// Value i of an x of that dtype, GR_U8 or GR_F32; or of a mask, GR_I32.
static inline double gr_transform_get(gr_dtype dtype, const void *x, int64_t i) {
  if (dtype == GR_I32) return ((const int32_t *)x)[i];
  return dtype == GR_U8 ? ((const uint8_t *)x)[i] : (double)((const float *)x)[i];
}
// Sets value i of an x of that dtype; in bytes, to the nearest whole number of 0 to 255.
static inline void gr_transform_put(gr_dtype dtype, void *y, int64_t i, double v) {
  if (dtype == GR_U8)
    ((uint8_t *)y)[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : (int)(v + 0.5));
  else if (dtype == GR_I32)
    ((int32_t *)y)[i] = (int32_t)v;
  else
    ((float *)y)[i] = (float)v;
}

// What a transform does to the mask of an image, a label for each pixel, or another image.
typedef enum gr_transform_mask {
  GR_MASK_REFUSED,  // it is not for images with masks
  GR_MASK_KEPT,     // nothing: pixels stay where they are
  // What it does to x, by the same random numbers: it is opened once more, for an x that is the
  // mask, i32 [height, width, 1], and with a parameter `fill` of GR_NO_LABEL, if it has one; or u8
  // [height, width, channels].
  GR_MASK_MOVED,
} gr_transform_mask;

typedef struct gr_transform_ops {
  const char *name, *doc;
  // The parameters, up to one whose path is NULL: path is the name; type, default and doc are as in
  // compose/schema/schema.def. `- NAME: VALUE` gives the first of them.
  const gr_schema_key *params;
  int least_rank, most_rank;  // of x
  bool always;                // also applied to samples that are not trained on
  gr_transform_mask mask;

  // Reads the parameters: checked against `params`, with every default filled in. *x is the type of
  // a sample's x; sets it to the type of the result. Errors are GR_ERR_CONFIG; those without a
  // location get that of the transform in the configuration.
  gr_status (*open)(gr_arena *, gr_conf *params, gr_type *x, void **self);
  // Writes the transformed x, of type `type`, to y. They do not overlap, and y is not cleared. draw
  // is NULL for samples that are not trained on. Several threads may call it at once.
  void (*apply)(const void *self, const gr_type *type, const void *x, void *y,
                const gr_transform_draw *draw);

  // Statistics of the training samples. Optional, all or none. `statistics` returns the numbers
  // that the samples determine, which checkpoints keep, and how many; *n = 0: there are none, and
  // nothing is called. `add` gets the x of each training sample, as this transform would, in the
  // order of the samples; `finish` computes the numbers.
  double *(*statistics)(void *self, int *n);
  void (*add)(void *self, const gr_type *type, const void *x);
  void (*finish)(void *self);
} gr_transform_ops;

// gr_transform_ops.open of a transform whose only parameter is the number `by`.
gr_status gr_transform_open_by(gr_arena *, gr_conf *, gr_type *x, void **self);
// Its factor, from 1 - by to 1 + by; 1 without a draw.
double gr_transform_factor(const void *self, const gr_transform_draw *);
// An error for an x that is not f32.
GR_MUST_USE gr_status gr_transform_needs_floats(const gr_type *x, const char *transform);
