// pool.h - pooling over one to three spatial axes, channels-last: what max_pool, avg_pool and
// adaptive_avg_pool share. Every window has at least one element that is no padding.
#pragma once
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/nn/window.h"
#include "ops/ops.h"

// What the attributes of pooling begin with, but for that of adaptive pooling.
typedef struct gr_pool_attr {
  gr_ints kernel, stride, pad;
} gr_pool_attr;
#define GR_POOL_ATTRS(type)                                                              \
  GR_ATTR(type, kernel, GR_ATTR_INTS, NULL,                                              \
          "elements in a window: one number for all axes, or one for each"),             \
      GR_ATTR(type, stride, GR_ATTR_INTS, "[]",                                          \
              "elements between windows, likewise; []: kernel, so that none is in two"), \
      GR_ATTR(type, pad, GR_ATTR_INTS, "0", "elements of padding before and after, likewise")

// The sizes of one call. Windows of adaptive pooling have a size of their own each: along an axis
// of `in` elements, window s of `out` is [floor(s in / out), ceil((s + 1) in / out)).
typedef struct gr_pool {
  gr_windows w;
  int64_t n, c;
  bool adaptive;
  bool count_pad;  // means are over padding too
} gr_pool;

// The attributes are NULL for adaptive pooling.
gr_pool gr_pool_of(const gr_pool_attr *, const gr_type *x, const gr_type *y);
// Index notation: for each letter of `what` an operand of s->in[0]'s rank, and after '>' the
// result: 'x' (spatial letters), 'y' (others) or '_' (sizes that infer sets).
void gr_pool_letters(const gr_op_call *, const char *what, char buf[128]);
// Operand 0 is a float with one to three spatial axes.
GR_MUST_USE gr_status gr_pool_check(const gr_op_call *);
// Checks the call's attributes against x, and sets y's spatial sizes.
GR_MUST_USE gr_status gr_pool_infer_sizes(const gr_op_call *, const gr_type *x, gr_type *y);
// infer of pooling that is not adaptive: from operand 0 to result 0.
gr_status gr_pool_infer(gr_op_call *);

// Indices along an axis: [begin, end).
typedef struct gr_pool_range {
  int64_t begin, end;
} gr_pool_range;
// The elements of window s along axis i that are no padding; there is at least one.
gr_pool_range gr_pool_elements(const gr_pool *, int i, int64_t s);
// A walk, in row-major order, through elements of x or windows: numbers among all of the batch,
// channels aside.
typedef struct gr_pool_walk {
  gr_pool_range r[GR_SPATIAL];
  int64_t position[GR_SPATIAL], first;
  const int64_t *size;
} gr_pool_walk;
// A walk through the elements of x in window r of all windows.
gr_pool_walk gr_pool_walk_of(const gr_pool *, int64_t r);
// A walk through the windows that element i of x is in.
gr_pool_walk gr_pool_readers_of(const gr_pool *, int64_t i);
// The next one; -1: there is none.
static inline int64_t gr_pool_next(gr_pool_walk *w) {
  int64_t *position = w->position;
  if (position[0] >= w->r[0].end) return -1;
  int64_t place = w->first + (position[0] * w->size[1] + position[1]) * w->size[2] + position[2];
  if (++position[2] < w->r[2].end) return place;
  position[2] = w->r[2].begin;
  if (++position[1] < w->r[1].end) return place;
  position[1] = w->r[1].begin, position[0]++;
  return place;
}
// What a window's sum is divided by.
int64_t gr_pool_divisor(const gr_pool *, const gr_pool_range r[GR_SPATIAL]);

// The reference kernel of means, for any dtype: operand 0 to result 0.
gr_status gr_pool_mean_cpu(const gr_launch *, const gr_pool *);
// The reference kernel of their gradient.
gr_status gr_pool_mean_grad_cpu(const gr_launch *, const gr_pool *);
// ---- f32 (pool_max_f32.c, pool_f32.c), on all threads of the launch
// y = the maximum of each window of x.
void gr_pool_max(const gr_launch *, const gr_pool *, const float *x, float *y);
// dx = the sum of dy over the windows whose maximum y the element is; of equal elements the first
// one is.
void gr_pool_max_grad(const gr_launch *, const gr_pool *, const float *x, const float *y,
                      const float *dy, float *dx);
// y = the mean of each window of x.
void gr_pool_mean(const gr_launch *, const gr_pool *, const float *x, float *y);
// dx = the sum of dy / divisor over the windows that the element is in.
void gr_pool_mean_grad(const gr_launch *, const gr_pool *, const float *dy, float *dx);
// Appends a kernel of pool.cu, with a thread for each element of the result; kind: MAX, MEAN,
// MAX_GRAD or MEAN_GRAD.
void gr_pool_gpu(gr_gpu_call *, const gr_pool *, const char *entry, const char *kind);
// Writes pooling to ONNX: that node, to which attributes may be added, and then the result of its
// call.
void gr_pool_onnx(gr_onnx_call *, const char *node);
// Transposes the call's result back to channels-last.
void gr_pool_onnx_end(gr_onnx_call *);
