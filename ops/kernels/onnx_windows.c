// onnx_windows.c - readers of windows (ops/kernels/onnx_read.h): their attributes, padding that
// differs between the ends of an axis, and pooling.
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

// One number if all are the same.
const char *gr_read_each(gr_onnx_reading *r, int n, const int64_t *items) {
  bool same = true;
  for (int i = 1; i < n; i++) same &= items[i] == items[0];
  return same ? gr_arena_printf(r->arena, "%lld", (long long)items[0]) : gr_read_list(r, n, items);
}

// ---- Attributes -------------------------------------------------------------------------------

// How many elements an axis needs beyond its own, so that it has a window for each `stride` of
// them; 0 of numbers that the op refuses.
static int64_t missing(const gr_read_windows *w, int i, int64_t size) {
  int64_t kernel = w->kernel[i], step = w->stride[i], gap = w->dilation[i];
  if (kernel < 1 || kernel > INT32_MAX || step < 1 || step > INT32_MAX || gap < 1 ||
      gap > INT32_MAX)
    return 0;
  int64_t more = (kernel - 1) * gap + 1 - (size % step ? size % step : step);
  return more > 0 ? more : 0;
}

// Padding as auto_pad has it: as much of SAME_UPPER behind an axis as before it, or one more.
static void pad_by_size(gr_onnx_reading *r, int x, int axes, bool upper, gr_read_windows *w) {
  for (int i = 0; i < axes && !r->err; i++) {
    int64_t more = missing(w, i, gr_read_type(r, x)->dim[1 + i]);
    for (int c = 1; c < GR_READ_CHOICES; c++)
      if (missing(w, i, r->vars[x].type[c].dim[1 + i]) != more)
        gr_read_refuse(r, "pads an axis by its size (auto_pad), which is open");
    w->pad[i] = upper ? more / 2 : more - more / 2;
    w->after[i] = more - w->pad[i];
  }
}

static void read_pads(gr_onnx_reading *r, int x, int axes, gr_read_windows *w) {
  int64_t pads[2 * GR_MAX_RANK] = {0};
  const char *mode = gr_read_text(r, "auto_pad", "NOTSET");
  bool upper = !strcmp(mode, "SAME_UPPER");
  gr_read_ints(r, "pads", 2 * GR_MAX_RANK, pads, 0);
  if (upper || !strcmp(mode, "SAME_LOWER")) {
    pad_by_size(r, x, axes, upper, w);
    return;
  }
  if (strcmp(mode, "NOTSET") != 0 && strcmp(mode, "VALID") != 0)
    gr_read_refuse(r, "has auto_pad=%s, which is not read", mode);
  for (int i = 0; i < axes && !strcmp(mode, "NOTSET"); i++)
    w->pad[i] = pads[i], w->after[i] = pads[i + axes];
}

bool gr_read_window(gr_onnx_reading *r, int x, int axes, const int64_t *kernel,
                    gr_read_windows *w) {
  *w = (gr_read_windows){.axes = axes};
  for (int i = 0; i < GR_MAX_RANK; i++) w->stride[i] = w->dilation[i] = 1;
  int n = gr_read_ints(r, "kernel_shape", GR_MAX_RANK, w->kernel, kernel ? 0 : -1);
  gr_read_ints(r, "strides", GR_MAX_RANK, w->stride, 0);
  gr_read_ints(r, "dilations", GR_MAX_RANK, w->dilation, 0);
  if (n && n != axes) gr_read_refuse(r, "has windows of %d axes, of a value of %d", n, axes);
  for (int i = 0; i < axes && kernel; i++) {
    if (n && w->kernel[i] != kernel[i])
      gr_read_refuse(r, "has a kernel_shape of %lld on an axis where its weight has %lld",
                     (long long)w->kernel[i], (long long)kernel[i]);
    w->kernel[i] = kernel[i];
  }
  if (!r->err) read_pads(r, x, axes, w);
  return !r->err;
}

// ---- Padding ----------------------------------------------------------------------------------

// Whether the op takes those numbers of elements.
static bool can_pad(gr_onnx_reading *r, int64_t before, int64_t after) {
  if (before < 0 || before > INT32_MAX || after < 0 || after > INT32_MAX)
    gr_read_refuse(r, "pads an axis by %lld and %lld", (long long)before, (long long)after);
  return !r->err;
}

int gr_read_pad_evenly(gr_onnx_reading *r, int x, bool least, gr_read_windows *w) {
  for (int i = 0; i < w->axes && !r->err; i++) {
    int64_t both = w->pad[i] < w->after[i] ? w->pad[i] : w->after[i], before[GR_READ_CHOICES],
            after[GR_READ_CHOICES];
    if (w->pad[i] == w->after[i] || !can_pad(r, w->pad[i], w->after[i])) continue;
    gr_read_same(before, w->pad[i] - both), gr_read_same(after, w->after[i] - both);
    x = least ? gr_read_pad_with(r, x, 1 + i, before, after, "-3.4028235e38")
              : gr_read_pad_zeros(r, x, 1 + i, before, after);
    w->pad[i] = w->after[i] = both;
  }
  return x;
}

// ---- Pooling ----------------------------------------------------------------------------------

// How many elements behind an axis and its padding the last window of ceil_mode reads.
static int64_t behind(const gr_read_windows *w, int i, int64_t size) {
  int64_t kernel = w->kernel[i], step = w->stride[i];
  int64_t rest = size + w->pad[i] + w->after[i] - kernel;
  if (kernel < 1 || rest < 0 || step < 1 || step > INT32_MAX) return 0;  // the op refuses these
  int64_t last = (rest + step - 1) / step * step;
  return last >= size + w->pad[i] || last <= rest ? 0 : last - rest;
}

// Sets by how many elements each axis is longer for windows of ceil_mode; whether one is.
static bool extends(gr_onnx_reading *r, int x, const gr_read_windows *w, int64_t *more) {
  bool any = false;
  for (int i = 0; i < w->axes && !r->err; i++) {
    if (!can_pad(r, w->pad[i], w->after[i])) return false;
    more[i] = behind(w, i, gr_read_type(r, x)->dim[1 + i]);
    for (int c = 1; c < GR_READ_CHOICES; c++)
      if (behind(w, i, r->vars[x].type[c].dim[1 + i]) != more[i])
        gr_read_refuse(r, "has ceil_mode=1, and windows that depend on an open size");
    any |= more[i] != 0;
  }
  return any;
}

// How many of a window's elements along an axis a mean is over: of an axis of `size`, and of its
// padding if that counts.
static int64_t counted(const gr_read_windows *w, int i, int64_t size, int64_t window,
                       bool padding) {
  int64_t begin = window * w->stride[i] - w->pad[i], end = begin + w->kernel[i];
  int64_t first = padding ? -w->pad[i] : 0, last = size + (padding ? w->after[i] : 0);
  return (end < last ? end : last) - (begin > first ? begin : first);
}

// What makes means over whole windows, y, those over what counts of them: a factor for each.
static int factors(gr_onnx_reading *r, int x, int y, const gr_read_windows *w, bool padding) {
  const gr_type *t = gr_read_type(r, y), *of = gr_read_type(r, x);
  gr_type type = {.dtype = GR_F32, .rank = w->axes + 1};
  for (int i = 0; i < w->axes; i++) {
    type.dim[i] = t->dim[1 + i];
    for (int c = 1; c < GR_READ_CHOICES; c++)
      if (r->vars[x].type[c].dim[1 + i] != of->dim[1 + i])
        gr_read_refuse(r, "has means over parts of windows, along an axis whose size is open");
  }
  type.dim[w->axes] = 1;
  if (r->err) return 0;
  int64_t n = gr_type_count(&type);
  float *factor = GR_NEW(r->arena, float, (size_t)n);
  for (int64_t k = 0; k < n; k++) {
    int64_t rest = k, whole = 1, parts = 1;
    for (int i = w->axes - 1; i >= 0; i--) {
      int64_t part = counted(w, i, of->dim[1 + i], rest % type.dim[i], padding);
      if (part < 1) gr_read_refuse(r, "has a window of padding alone");
      parts *= part, whole *= w->kernel[i], rest /= type.dim[i];
    }
    factor[k] = (float)whole / (float)parts;
  }
  return gr_read_known(r, &type, factor);
}

static int pool(gr_onnx_reading *r, const gr_op *op, int x, const gr_read_windows *w,
                const char *count_include_pad) {
  return GR_READ(r, op, x, {"kernel", gr_read_each(r, w->axes, w->kernel)},
                 {"stride", gr_read_each(r, w->axes, w->stride)},
                 {"pad", gr_read_each(r, w->axes, w->pad)},
                 {"count_include_pad", count_include_pad});
}

// Means over windows that reach beyond the axes and count only a part of what is there.
static int pool_parts(gr_onnx_reading *r, const gr_op *op, int x, const gr_read_windows *w,
                      const int64_t *more, bool padding) {
  gr_read_windows whole = *w;
  int wide = x;
  for (int i = 0; i < w->axes && !r->err; i++) {
    int64_t before[GR_READ_CHOICES], after[GR_READ_CHOICES];
    gr_read_same(before, w->pad[i]), gr_read_same(after, w->after[i] + more[i]);
    if (*before || *after) wide = gr_read_pad_zeros(r, wide, 1 + i, before, after);
    whole.pad[i] = whole.after[i] = 0;
  }
  int y = pool(r, op, wide, &whole, "true"), factor = r->err ? 0 : factors(r, x, y, w, padding);
  return GR_READ_TWO(r, &gr_op_mul, y, factor);
}

// Along an axis the maxima of windows with gaps, of all that are inside of it and its padding: of
// slices that begin where a window's elements are. The window has one element then.
static int spaced(gr_onnx_reading *r, int x, int i, gr_read_windows *w) {
  int64_t before[GR_READ_CHOICES], after[GR_READ_CHOICES], size[GR_READ_CHOICES];
  int64_t reach = missing(w, i, 1);
  if (!can_pad(r, w->pad[i], w->after[i])) return 0;
  if (w->kernel[i] < 1 || w->kernel[i] > 64 || reach > INT32_MAX)
    gr_read_refuse(r, "has windows of %lld elements, %lld apart", (long long)w->kernel[i],
                   (long long)w->dilation[i]);
  gr_read_same(before, w->pad[i]), gr_read_same(after, w->after[i]);
  if (*before || *after) x = gr_read_pad_with(r, x, 1 + i, before, after, "-3.4028235e38");
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++)
    if ((size[c] = r->vars[x].type[c].dim[1 + i] - reach) < 1)
      gr_read_refuse(r, "has windows that reach beyond an axis");
  int y = 0;
  for (int64_t k = 0; k < w->kernel[i] && !r->err; k++) {
    gr_read_same(before, k * w->dilation[i]);
    int part = gr_read_slice(r, x, 1 + i, before, size);
    y = k ? GR_READ_TWO(r, &gr_op_max, y, part) : part;
  }
  w->kernel[i] = w->dilation[i] = 1, w->pad[i] = w->after[i] = 0;
  return y;
}

// x, of which windows have no gaps any more.
static int without_gaps(gr_onnx_reading *r, int x, bool maxima, bool ceil, gr_read_windows *w) {
  for (int i = 0; i < w->axes && !r->err; i++) {
    if (w->dilation[i] == 1) continue;
    if (!maxima) gr_read_refuse(r, "has windows with gaps (dilations)");
    if (ceil) gr_read_refuse(r, "has windows with gaps (dilations), and ceil_mode=1");
    x = r->err ? 0 : spaced(r, x, i, w);
  }
  return x;
}

void gr_read_pool(gr_onnx_reading *r, const gr_op *op, const char *count_include_pad) {
  gr_read_windows w;
  int64_t more[GR_MAX_RANK] = {0};
  int x = gr_read_in_last(r, 0), axes = r->err ? 0 : gr_read_type(r, x)->rank - 2, y;
  bool ceil = gr_read_int(r, "ceil_mode", 0), uneven = false;
  gr_read_only(r, "storage_order", 0);
  if (r->err || !gr_read_window(r, x, axes, NULL, &w)) return;
  x = without_gaps(r, x, !count_include_pad, ceil, &w);
  for (int i = 0; i < axes; i++) uneven |= w.pad[i] != w.after[i];
  bool wider = !r->err && ceil && extends(r, x, &w, more),
       padding = count_include_pad && *count_include_pad == 't';
  if (r->err) return;
  if (count_include_pad && (wider || (uneven && !padding))) {
    y = pool_parts(r, op, x, &w, more, padding);
  } else {
    for (int i = 0; i < axes; i++) w.after[i] += more[i];
    x = gr_read_pad_evenly(r, x, !count_include_pad, &w);
    y = pool(r, op, x, &w, count_include_pad);
  }
  gr_read_out(r, 0, y, true);
}
