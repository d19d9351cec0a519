// window.h - the windows of convolution and pooling: along each of one to three spatial axes,
// window s begins at element s * stride - pad, and has `size` elements that are `dilation` apart.
// Elements before and after the operand are padding.
#pragma once
#include "ir/op.h"

enum { GR_SPATIAL = 3 };
// Values are channels-last, [n, spatial axes..., c]. Of fewer than three axes the first ones are
// left out: they have size 1.
typedef struct gr_windows {
  int axes;
  int64_t in[GR_SPATIAL], out[GR_SPATIAL];  // elements; windows
  int64_t size[GR_SPATIAL], stride[GR_SPATIAL], pad[GR_SPATIAL], dilation[GR_SPATIAL];
} gr_windows;

// As users give them: one number for all axes, or one for each.
typedef struct gr_window_attr {
  const gr_ints *size, *stride, *pad, *dilation;  // NULL: 1
} gr_window_attr;

// The windows of the attributes over an operand with those sizes, without `out`.
gr_windows gr_windows_of(int axes, const gr_window_attr *, const int64_t *in);
// How many windows fit along axis i, or 0.
int64_t gr_windows_fit(const gr_windows *, int i);
// GR_ERR_TYPE unless the attributes have as many numbers as there are axes, and possible ones.
GR_MUST_USE gr_status gr_windows_check(const gr_op_call *, int axes, const gr_window_attr *);
// Sets the sizes of t's spatial axes to the numbers of windows; GR_ERR_TYPE if there are none.
GR_MUST_USE gr_status gr_windows_infer(const gr_op_call *, const gr_windows *, gr_type *t);

// The element along axis i that element k of window s is; it is padding if not gr_window_inside.
static inline int64_t gr_window_at(const gr_windows *w, int i, int64_t s, int64_t k) {
  return s * w->stride[i] - w->pad[i] + k * w->dilation[i];
}
// Whether an index along axis i is that of an element, and not of padding.
static inline bool gr_window_inside(const gr_windows *w, int i, int64_t index) {
  return index >= 0 && index < w->in[i];
}
// The number of elements of an array of those sizes.
static inline int64_t gr_product(const int64_t size[GR_SPATIAL]) {
  return size[0] * size[1] * size[2];
}
// The index along each axis of element i of an array of those sizes.
static inline void gr_unravel(int64_t i, const int64_t size[GR_SPATIAL],
                              int64_t position[GR_SPATIAL]) {
  position[2] = i % size[2], i /= size[2];
  position[1] = i % size[1], position[0] = i / size[1];
}
// The element that element k of window s is, among those of a sample; -1: padding.
static inline int64_t gr_window_element(const gr_windows *w, const int64_t s[GR_SPATIAL],
                                        const int64_t k[GR_SPATIAL]) {
  int64_t element = 0;
  for (int i = 0; i < GR_SPATIAL; i++) {
    int64_t a = gr_window_at(w, i, s[i], k[i]);
    if (!gr_window_inside(w, i, a)) return -1;
    element = element * w->in[i] + a;
  }
  return element;
}
// The other way round: the window whose element k is element at; -1: none.
static inline int64_t gr_window_reading(const gr_windows *w, const int64_t position[GR_SPATIAL],
                                        const int64_t k[GR_SPATIAL]) {
  int64_t s = 0;
  for (int i = 0; i < GR_SPATIAL; i++) {
    int64_t offset = position[i] + w->pad[i] - k[i] * w->dilation[i];
    if (offset < 0 || offset % w->stride[i] || offset / w->stride[i] >= w->out[i]) return -1;
    s = s * w->out[i] + offset / w->stride[i];
  }
  return s;
}
