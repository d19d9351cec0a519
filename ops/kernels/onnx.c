// onnx.c - see onnx.h.
#include "ops/kernels/onnx.h"
#include <float.h>

static const char *scalar(gr_onnx_call *c, const char *vector) {
  return GR_ONNX(c, "Squeeze", vector, gr_onnx_vector(c, 1, &(int64_t){0}));
}

const char *gr_onnx_range(gr_onnx_call *c, const char *size) {
  const char *end = gr_onnx_cast(c, scalar(c, size), gr_onnx_dtype(GR_I32));
  return GR_ONNX(c, "Range", gr_onnx_number(c, GR_I32, 0), end, gr_onnx_number(c, GR_I32, 1));
}

const char *gr_onnx_unsqueeze(gr_onnx_call *c, const char *x, int axis) {
  return GR_ONNX(c, "Unsqueeze", x, gr_onnx_vector(c, 1, &(int64_t){axis}));
}

// ---- Masks --------------------------------------------------------------------------------------

const char *gr_onnx_within(gr_onnx_call *c, int lengths, int rank, int axis, const char *size) {
  int64_t after[GR_MAX_RANK], beside[GR_MAX_RANK];
  for (int d = axis + 1; d < rank; d++) beside[d - axis - 1] = d - axis;
  for (int d = 1; d < rank; d++) after[d - 1] = d;
  const char *i = gr_onnx_range(c, size);
  if (rank > axis + 1) i = GR_ONNX(c, "Unsqueeze", i, gr_onnx_vector(c, rank - axis - 1, beside));
  return GR_ONNX(c, "Less", i,
                 GR_ONNX(c, "Unsqueeze", c->in[lengths], gr_onnx_vector(c, rank - 1, after)));
}

const char *gr_onnx_causal(gr_onnx_call *c, const char *rows, const char *columns) {
  const char *row = gr_onnx_unsqueeze(c, gr_onnx_range(c, rows), 1);
  return GR_ONNX(c, "LessOrEqual", gr_onnx_range(c, columns), row);
}

const char *gr_onnx_and(gr_onnx_call *c, const char *a, const char *b) {
  return a && b ? GR_ONNX(c, "And", a, b) : a ? a : b;
}

// With the least number in place of -infinity a row without any is uniform, and not NaN.
const char *gr_onnx_probabilities(gr_onnx_call *c, const char *scores, const char *mask,
                                  gr_dtype d) {
  double least = d == GR_F16 ? -65504.0 : d == GR_F64 ? -DBL_MAX : -FLT_MAX;
  if (mask) scores = GR_ONNX(c, "Where", mask, scores, gr_onnx_number(c, d, least));
  const char *y = GR_ONNX(c, "Softmax", scores);
  gr_onnx_int(c, "axis", -1);
  return y;
}

const char *gr_onnx_slice(gr_onnx_call *c, const char *x, int axis, const char *start,
                          const char *end) {
  return GR_ONNX(c, "Slice", x, start, end, gr_onnx_vector(c, 1, &(int64_t){axis}));
}

// ---- Windows ------------------------------------------------------------------------------------

const char *gr_onnx_channels_first(gr_onnx_call *c, const char *x, int rank) {
  int64_t perm[GR_MAX_RANK] = {0, rank - 1};
  for (int d = 2; d < rank; d++) perm[d] = d - 1;
  return gr_onnx_transpose(c, x, rank, perm);
}

const char *gr_onnx_channels_last(gr_onnx_call *c, const char *x, int rank) {
  int64_t perm[GR_MAX_RANK] = {0};
  for (int d = 1; d < rank - 1; d++) perm[d] = d + 1;
  perm[rank - 1] = 1;
  return gr_onnx_transpose(c, x, rank, perm);
}

void gr_onnx_window(gr_onnx_call *c, const char *name, int axes, const gr_ints *given) {
  int64_t all[GR_MAX_RANK];
  for (int i = 0; i < axes; i++) all[i] = given->items[given->n == axes ? i : 0];
  gr_onnx_ints(c, name, axes, all);
}

void gr_onnx_pads(gr_onnx_call *c, int axes, const gr_ints *pad) {
  int64_t all[2 * GR_MAX_RANK];
  for (int i = 0; i < 2 * axes; i++) all[i] = pad->items[pad->n == axes ? i % axes : 0];
  gr_onnx_ints(c, "pads", 2 * axes, all);
}
