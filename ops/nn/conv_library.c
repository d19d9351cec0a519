// conv_library.c - convolution of f32 by oneDNN, on all threads: samples are divided into parts, by
// the shape alone, so that results do not depend on the number of threads. The kernel is reordered
// once for all parts. A primitive is made when a program is opened.
#include "ops/kernels/gemm.h"
#include "ops/kernels/onednn.h"
#include "ops/kernels/rows.h"
#include "ops/nn/conv.h"

enum { PARTS = 16, MAX_SUMS = 4 << 20, BLOCK = 16 };

static int64_t rounded(int64_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

// Numbers of a reordered kernel: channels are padded to the width of vectors, those of depthwise
// convolutions as one axis.
static int64_t packed_of(const gr_conv_sizes *v) {
  int64_t cg = gr_conv_c(v), og = gr_conv_out(v), taps = gr_conv_taps(v);
  if (cg == 1 && og == 1) return rounded(v->groups) * taps;
  return v->groups * rounded(cg) * rounded(og) * taps;
}

// The most parts that divide the samples; of gradients of a kernel, whose parts have a sum each,
// those that fit working memory.
static int64_t parts_of(const gr_conv_sizes *v, gr_onednn_conv_kind kind) {
  int64_t most = gr_min_i64(PARTS, v->n);
  if (kind == GR_ONEDNN_GRAD_W) most = gr_min_i64(most, MAX_SUMS / packed_of(v));
  for (; most > 1; most--)
    if (v->n % most == 0) return most;
  return 1;
}

// One axis without groups is a product of matrices, which is as fast (docs/decisions.md).
static bool is_for_products(const gr_conv_sizes *v) { return v->w.axes == 1 && v->groups == 1; }

size_t gr_conv_library_scratch(const gr_conv_sizes *v, bool grad_w) {
  if (is_for_products(v)) return 0;
  int64_t parts = grad_w ? parts_of(v, GR_ONEDNN_GRAD_W) : 1;
  size_t kernels = sizeof(float) * (size_t)(parts * packed_of(v));
  return kernels + (size_t)gr_min_i64(PARTS, v->n) * GR_ONEDNN_SCRATCH;
}

static gr_onednn_shape shape_of(const gr_conv_sizes *v, gr_onednn_conv_kind kind) {
  gr_onednn_shape s = {.kind = kind,
                       .axes = v->w.axes,
                       .n = v->n / parts_of(v, kind),
                       .c = v->c,
                       .out = v->out,
                       .groups = v->groups};
  for (int i = 0; i < GR_SPATIAL; i++) {
    s.in[i] = v->w.in[i], s.windows[i] = v->w.out[i], s.taps[i] = v->w.size[i];
    s.stride[i] = v->w.stride[i], s.pad[i] = v->w.pad[i], s.dilation[i] = v->w.dilation[i];
  }
  return s;
}

typedef struct job {
  const gr_onednn_convs *lib;
  const gr_onednn_conv *conv;
  const float *x, *y;
  float *packed;
  int64_t x_step, packed_step, y_step;  // from part to part
  char *scratch;                        // of the library, for each part
  int64_t parts;
  bool failed;
} job;

static bool conv_library_open(const gr_conv_sizes *v, gr_onednn_conv_kind kind, job *j) {
  const gr_onednn_convs *lib = gr_gemm_onednn_convs();
  if (!lib || is_for_products(v)) return false;
  gr_onednn_shape s = shape_of(v, kind);
  *j = (job){.lib = lib, .conv = lib->find(&s), .parts = parts_of(v, kind)};
  if (!j->conv || lib->packed(j->conv) > sizeof(float) * (size_t)packed_of(v)) return false;
  int64_t samples = v->n / j->parts;
  j->x_step = samples * gr_conv_in(v) * v->c, j->y_step = samples * gr_conv_windows(v) * v->out;
  return true;
}

bool gr_conv_library_open(const gr_conv_sizes *v, int kind) {
  job j;
  return conv_library_open(v, (gr_onednn_conv_kind)kind, &j);
}

static void conv_library_run(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  for (int64_t i = begin; i < end; i++)
    if (!j->lib->run(j->conv, j->x + i * j->x_step, j->packed + i * j->packed_step,
                     j->y + i * j->y_step, j->scratch + i * GR_ONEDNN_SCRATCH))
      __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED);
}

// kernels: how many of them, reordered, are in working memory.
static bool run_all(const gr_launch *l, const gr_conv_sizes *v, job *j, int64_t kernels) {
  j->scratch = (char *)(j->packed + kernels * packed_of(v));
  gr_parallel(l, j->parts, 1, conv_library_run, j);
  return !j->failed;
}

bool gr_conv_library_forward(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                             const float *w, float *y) {
  job j;
  if (!conv_library_open(v, GR_ONEDNN_FORWARD, &j)) return false;
  j.x = x, j.y = y, j.packed = l->scratch;
  return j.lib->pack(j.conv, w, j.packed) && run_all(l, v, &j, 1);
}

bool gr_conv_library_grad_x(const gr_launch *l, const gr_conv_sizes *v, const float *w,
                            const float *dy, float *dx) {
  job j;
  if (!conv_library_open(v, GR_ONEDNN_GRAD_X, &j)) return false;
  j.x = dx, j.y = dy, j.packed = l->scratch;
  return j.lib->pack(j.conv, w, j.packed) && run_all(l, v, &j, 1);
}

// Adds the parts' gradients to that of the first part, in order.
static void add_parts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t p = 1; p < j->parts; p++) {
    const float *of = j->packed + p * j->packed_step;
    GR_VECTOR for (int64_t i = begin; i < end; i++) j->packed[i] += of[i];
  }
}

bool gr_conv_library_grad_w(const gr_launch *l, const gr_conv_sizes *v, const float *x,
                            const float *dy, float *dw) {
  enum { GRAIN = 1 << 14 };
  job j;
  if (!conv_library_open(v, GR_ONEDNN_GRAD_W, &j)) return false;
  j.x = x, j.y = dy, j.packed = l->scratch, j.packed_step = packed_of(v);
  if (!run_all(l, v, &j, j.parts)) return false;
  int64_t n = (int64_t)(j.lib->packed(j.conv) / sizeof(float));
  gr_parallel(l, n, GRAIN, add_parts, &j);
  return j.lib->unpack(j.conv, j.packed, dw);
}
