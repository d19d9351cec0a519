// onednn.h - what the files of module "onednn" share, and its convolutions. A convolution is of
// f32, channels-last, and runs on the calling thread; its kernel is reordered to what the library
// reads fastest. Several threads may run one at once.
#pragma once
#include "base/base.h"

typedef enum gr_onednn_conv_kind {
  GR_ONEDNN_FORWARD,
  GR_ONEDNN_GRAD_X,
  GR_ONEDNN_GRAD_W
} gr_onednn_conv_kind;
// Compared as bytes. Numbers of the spatial axes are those of the last `axes` of three.
typedef struct gr_onednn_shape {
  int64_t kind, axes, n, c, out, groups;
  int64_t in[3], windows[3], taps[3], stride[3], pad[3], dilation[3];
} gr_onednn_shape;

enum { GR_ONEDNN_SCRATCH = 16 << 10 };  // of one call; convolutions that need more are not offered
typedef struct gr_onednn_conv gr_onednn_conv;
typedef struct gr_onednn_convs {
  // The convolution of that shape, made when it is asked for first; NULL: the library has none that
  // is fast and needs little working memory. It is never freed.
  const gr_onednn_conv *(*find)(const gr_onednn_shape *);
  size_t (*packed)(const gr_onednn_conv *);  // bytes of a reordered kernel
  // Between a kernel [out, c / groups, taps...] and its reordered form. False: the library fails.
  bool (*pack)(const gr_onednn_conv *, const float *w, void *packed);
  bool (*unpack)(const gr_onednn_conv *, const void *packed, float *w);
  // The result is y, x or the packed kernel, by kind. scratch: GR_ONEDNN_SCRATCH bytes.
  bool (*run)(const gr_onednn_conv *, const float *x, const void *packed, const float *y,
              void *scratch);
} gr_onednn_convs;

// Of oneDNN's OpenMP team the calling thread is the only one (gemm_onednn.c).
void gr_onednn_use_one_thread(void);
// NULL: the library's version has another interface.
extern const gr_onednn_convs *const gr_onednn_conv_table;
