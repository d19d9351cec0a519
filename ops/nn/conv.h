// conv.h - convolution, channels-last: what conv1d, conv2d, conv3d and their gradients share.
//
//   y[n, s..., o] = sum over taps k... and channels c of x[n, s stride - pad + k dilation, c] w[o,
//   c, k...]
//
// With groups, output channel o of group o / (out / groups) reads the channels of that group alone,
// and w is [out, c / groups, taps...], as PyTorch's.
#pragma once
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/nn/window.h"
#include "ops/ops.h"

struct gr_conv_attr {
  gr_ints stride, pad, dilation;
  int64_t groups;
};
struct gr_conv_grad_attr {  // begins as gr_conv_attr
  gr_ints stride, pad, dilation;
  int64_t groups;
  gr_ints size;  // conv_grad_x: the spatial sizes of x; conv_grad_w: the taps of w
};
#define GR_CONV_ATTRS(type)                                                               \
  GR_ATTR(type, stride, GR_ATTR_INTS, "1",                                                \
          "elements of x between windows: one number for all axes, or one for each"),     \
      GR_ATTR(type, pad, GR_ATTR_INTS, "0", "zeros before and after x, likewise"),        \
      GR_ATTR(type, dilation, GR_ATTR_INTS, "1", "elements of x between taps, likewise"), \
      GR_ATTR(type, groups, GR_ATTR_INT, "1",                                             \
              "groups of channels, each convolved by itself; groups = c: depthwise")

// The sizes of one call: samples, channels of x and of y, and the windows.
typedef struct gr_conv_sizes {
  gr_windows w;
  int64_t n, c, out, groups;
} gr_conv_sizes;
// The sizes that follow from the types of all three, also of a gradient, whose result is x or w.
gr_conv_sizes gr_conv_sizes_of(const struct gr_conv_attr *, const gr_type *x, const gr_type *w,
                               const gr_type *y);
// Elements of a sample of x, channels aside.
static inline int64_t gr_conv_in(const gr_conv_sizes *v) { return gr_product(v->w.in); }
// Elements of a sample of y, channels aside.
static inline int64_t gr_conv_windows(const gr_conv_sizes *v) { return gr_product(v->w.out); }
// Taps of a window.
static inline int64_t gr_conv_taps(const gr_conv_sizes *v) { return gr_product(v->w.size); }
// Channels of x in a group.
static inline int64_t gr_conv_c(const gr_conv_sizes *v) { return v->c / v->groups; }
// Channels of y in a group.
static inline int64_t gr_conv_out(const gr_conv_sizes *v) { return v->out / v->groups; }

// What an operand or result is: x [n, spatial..., c], w [o, c, taps...], the gradient dy, or a
// result whose sizes infer sets.
typedef enum gr_conv_role {
  GR_CONV_X,
  GR_CONV_W,
  GR_CONV_DY,
  GR_CONV_NEW_X,
  GR_CONV_NEW_Y,
  GR_CONV_NEW_W
} gr_conv_role;
// Writes the index notation of an operand or result in that role at `to`, and returns its end.
// groups: there are several; bias: the op adds one.
char *gr_conv_letters(char *to, gr_conv_role, int axes, bool groups, bool bias);
// The notation of a gradient, from an operand in that role and dy.
void gr_conv_grad_letters(const gr_op_call *, gr_conv_role first, gr_conv_role result,
                          char buf[128]);
// What must hold of the attributes and of operands x, w, y, of which one is to be made.
GR_MUST_USE gr_status gr_conv_check(const gr_op_call *, int axes, const struct gr_conv_attr *,
                                    const gr_type *x, const gr_type *w, const gr_type *y);
// Floating-point operations of y = conv(x, w), and equally of either gradient.
int64_t gr_conv_flops(const gr_type *w, const gr_type *y);

// Adds to what a CPU does for a convolution, or for its gradient with respect to x or w. One of one
// axis without groups is a product of patches of x, which are gathered in runs along that axis. Of
// others vectors are filled with channels of the result, in blocks of which the last may be partly
// empty; `volume` is the kind of work with three axes.
void gr_conv_count(const gr_conv_sizes *, int64_t channels, gr_effort volume, gr_efforts *);

// ---- f32 (conv_f32.c): by oneDNN where it can, else by matrix products --------------------------
// Bytes of scratch memory that either way needs.
size_t gr_conv_scratch(const gr_conv_sizes *, bool grad_w);
// y = conv(x, w), plus bias [out] unless that is NULL.
void gr_conv_forward(const gr_launch *, const gr_conv_sizes *, const float *x, const float *w,
                     const float *bias, float *y);
// dx of y = conv(x, w).
void gr_conv_grad_x(const gr_launch *, const gr_conv_sizes *, const float *w, const float *dy,
                    float *dx);
// dw of y = conv(x, w).
void gr_conv_grad_w(const gr_launch *, const gr_conv_sizes *, const float *x, const float *dy,
                    float *dw);
// The same three by products, or window by window where they are depthwise.
// y = conv(x, w).
void gr_conv_products_forward(const gr_launch *, const gr_conv_sizes *, const float *x,
                              const float *w, float *y);
// dx, by products.
void gr_conv_products_grad_x(const gr_launch *, const gr_conv_sizes *, const float *w,
                             const float *dy, float *dx);
// dw, by products; the order of its sums depends on the sizes alone.
void gr_conv_products_grad_w(const gr_launch *, const gr_conv_sizes *, const float *x,
                             const float *dy, float *dw);

// ---- Depthwise convolutions, window by window (conv_depthwise.c)
// Whether each group has one channel of x and of y: then products would have one column. The
// launch's scratch memory holds w.
static inline bool gr_conv_is_depthwise(const gr_conv_sizes *v) {
  return v->groups > 1 && v->groups == v->c && v->c == v->out;
}
// y = conv(x, w).
void gr_conv_depthwise_forward(const gr_launch *, const gr_conv_sizes *, const float *x,
                               const float *w, float *y);
// dx of that convolution.
void gr_conv_depthwise_grad_x(const gr_launch *, const gr_conv_sizes *, const float *w,
                              const float *dy, float *dx);
// dw of that convolution.
void gr_conv_depthwise_grad_w(const gr_launch *, const gr_conv_sizes *, const float *x,
                              const float *dy, float *dw);
// ---- By oneDNN (conv_library.c)
// Makes what calls of a kind (gr_onednn_conv_kind) with these sizes need. False from any of these
// functions: the library is not there, has no fast kernel, is not faster, or fails; what was
// written does not count then.
bool gr_conv_library_open(const gr_conv_sizes *, int kind);
// y = conv(x, w).
bool gr_conv_library_forward(const gr_launch *, const gr_conv_sizes *, const float *x,
                             const float *w, float *y);
// dx of that convolution.
bool gr_conv_library_grad_x(const gr_launch *, const gr_conv_sizes *, const float *w,
                            const float *dy, float *dx);
// dw of that convolution; the order of its sums depends on the sizes alone.
bool gr_conv_library_grad_w(const gr_launch *, const gr_conv_sizes *, const float *x,
                            const float *dy, float *dw);
size_t gr_conv_library_scratch(const gr_conv_sizes *, bool grad_w);  // bytes, with a library or not

// ---- On a GPU (conv_gpu.c) ----------------------------------------------------------------------
// gr_op.gpu of the forward ops: by a library where there may be one, else by tiles.
gr_status gr_conv_forward_gpu(gr_gpu_call *);
// The same of conv_grad_x.
gr_status gr_conv_grad_x_gpu(gr_gpu_call *);
// The same of conv_grad_w, whose windows are summed in parts.
gr_status gr_conv_grad_w_gpu(gr_gpu_call *);

// ---- conv1d, conv2d, conv3d (conv.c): descriptors differ in their cases and doc alone -----------
#define GR_CONV_OP(axes)                                                                         \
  .name = "conv" #axes "d", .n_in = GR_ANY, .attr_size = sizeof(struct gr_conv_attr),            \
  .attrs = gr_conv_attrs, .index_spec_of = gr_conv##axes##d_letters,                             \
  .infer = gr_conv##axes##d_infer, .flops = gr_conv_op_flops, .efforts = gr_conv_efforts,        \
  .grad = gr_conv_grad, .cpu = gr_conv_cpu, .fast = gr_conv_fast, .scratch = gr_conv_op_scratch, \
  .gpu = gr_conv_forward_gpu, .amp = GR_AMP_NARROW, .to_onnx = gr_conv_onnx
// Reads a Conv, of any number of axes (gr_op.from_onnx of conv2d).
void gr_conv_read(gr_onnx_reading *);
extern const gr_attr gr_conv_attrs[];
// gr_op.index_spec_of of conv1d.
void gr_conv1d_letters(const gr_op_call *, char buf[128]);
// The same of conv2d.
void gr_conv2d_letters(const gr_op_call *, char buf[128]);
// The same of conv3d.
void gr_conv3d_letters(const gr_op_call *, char buf[128]);
// gr_op.infer of conv1d: GR_ERR_TYPE for operands or attributes that do not fit.
gr_status gr_conv1d_infer(gr_op_call *);
// The same of conv2d.
gr_status gr_conv2d_infer(gr_op_call *);
// The same of conv3d.
gr_status gr_conv3d_infer(gr_op_call *);
// gr_op.flops of a call.
int64_t gr_conv_op_flops(const gr_op_call *);
// gr_op.efforts of a call.
void gr_conv_efforts(const gr_op_call *, gr_efforts *);
// gr_op.grad: emits the gradients of x, w and the bias that are wanted.
void gr_conv_grad(const gr_grad *);
// gr_op.cpu: the reference kernel, in double.
gr_status gr_conv_cpu(const gr_launch *);
// gr_op.fast: the kernel for f32 and narrow types; it also has the library open what the call
// needs.
gr_kernel gr_conv_fast(const gr_op_call *);
// gr_op.to_onnx: a Conv, between transpositions.
void gr_conv_onnx(gr_onnx_call *);
// gr_op.scratch of the fast kernel.
size_t gr_conv_op_scratch(const gr_op_call *);
