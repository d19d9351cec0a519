// pad_read.c - reads padding of ONNX: zeros, another number, or elements of the axis again; a
// negative width cuts elements off.
#include <math.h>
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

// ---- Numbers ----------------------------------------------------------------------------------

int gr_read_pad_zeros(gr_onnx_reading *r, int x, int d, const int64_t *before,
                      const int64_t *after) {
  int64_t axis[GR_READ_CHOICES], size[GR_READ_CHOICES];
  gr_read_same(axis, d);
  for (int c = 0; c < GR_READ_CHOICES; c++)
    size[c] = r->vars[x].type[c].dim[d] + before[c] + after[c];
  return GR_READ(r, &gr_op_pad, x, GR_READ_NUMBER("axis", axis), GR_READ_NUMBER("from", before),
                 GR_READ_NUMBER("size", size));
}

int gr_read_pad_with(gr_onnx_reading *r, int x, int axis, const int64_t *before,
                     const int64_t *after, const char *value) {
  const int64_t *const more[] = {before, after};
  int in[3], n = 0;
  for (int k = 0; k < 2 && !r->err; k++) {
    int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
    int rank = gr_read_dims(r, x, 0, gr_read_type(r, x)->rank, sizes);
    memcpy(sizes[axis], more[k], sizeof sizes[axis]);
    const gr_read_setting s[] = {
        {"shape", .sizes = sizes, .n = rank, .list = true},
        {"value", value},
        {"dtype", gr_dtypes[gr_read_type(r, x)->dtype].is_float ? "f32" : "i64"}};
    if (*more[k]) in[n++] = gr_read_emit(r, &gr_op_fill, 0, NULL, 3, s);
    if (!k) in[n++] = x;
  }
  const gr_read_setting s = {"axis", gr_arena_printf(r->arena, "%d", axis)};
  return r->err ? 0 : gr_read_emit(r, &gr_op_concat, n, in, 1, &s);
}

// ---- Elements again -----------------------------------------------------------------------------

// Which element of an axis stands at position i beyond its ends; -1: none.
static int64_t beyond(int64_t i, int64_t size, const char *mode) {
  if (!strcmp(mode, "edge")) return i < 0 ? 0 : i >= size ? size - 1 : i;
  if (!strcmp(mode, "wrap")) return (i % size + size) % size;
  i = i < 0 ? -i : i;
  return i < size ? i : 2 * size - 2 - i;
}

// Elements of the axis again, of which each is one times a row of a matrix.
static int pad_again(gr_onnx_reading *r, int x, int axis, const int64_t pads[2], const char *mode) {
  enum { MOST = 1 << 12 };  // elements of the axis
  int64_t size = gr_read_type(r, x)->dim[axis];
  if (pads[0] < 0 || pads[1] < 0 || pads[0] > size || pads[1] > size || size > MOST)
    gr_read_refuse(r, "pads an axis of %lld by %lld and %lld", (long long)size, (long long)pads[0],
                   (long long)pads[1]);
  if (r->err) return 0;
  int64_t wide = size + pads[0] + pads[1];
  float *matrix = GR_NEW(r->arena, float, (size_t)(wide * size));
  for (int64_t i = 0; i < wide; i++) {
    int64_t k = beyond(i - pads[0], size, mode);
    if (k >= 0 && k < size) matrix[i * size + k] = 1;
  }
  return gr_read_mix(r, x, axis, wide, matrix);
}

// ---- The node -----------------------------------------------------------------------------------

// The widths of each axis, before and after it, by choice: of those that operand 3 names, or of
// all.
static void read_widths(gr_onnx_reading *r, int rank, int64_t (*out)[2][GR_READ_CHOICES]) {
  int64_t pads[2 * GR_MAX_RANK][GR_READ_CHOICES], axes[GR_MAX_RANK][GR_READ_CHOICES];
  int some = gr_read_in(r, 3, false), n = rank;
  memset(out, 0, sizeof *out * GR_MAX_RANK);
  if (some && (n = gr_read_numbers(r, some, GR_MAX_RANK, axes)) < 0)
    gr_read_refuse(r, "has axes that are no constants");
  if (gr_read_numbers(r, gr_read_in(r, 1, true), 2 * GR_MAX_RANK, pads) != 2 * n)
    gr_read_refuse(r, "has widths that are no constants, or not two for each axis");
  for (int i = 0; i < 2 * n && !r->err; i++) {
    int axis = some ? gr_read_axis(r, axes[i % n][0], rank) : i % n;
    for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
      if (pads[i][c] < -INT32_MAX || pads[i][c] > INT32_MAX)
        gr_read_refuse(r, "pads by more than an axis can have");
      out[axis][i / n][c] = pads[i][c];
    }
  }
}

// What negative widths leave of an axis; these are 0 then.
static int cut(gr_onnx_reading *r, int x, int axis, int64_t (*width)[GR_READ_CHOICES]) {
  int64_t start[GR_READ_CHOICES], size[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    start[c] = width[0][c] < 0 ? -width[0][c] : 0;
    size[c] = r->vars[x].type[c].dim[axis] - start[c] + (width[1][c] < 0 ? width[1][c] : 0);
    if (size[c] < 1) gr_read_refuse(r, "cuts off all of axis %d", axis);
    for (int k = 0; k < 2; k++) width[k][c] = width[k][c] < 0 ? 0 : width[k][c];
  }
  return r->err ? 0 : gr_read_slice(r, x, axis, start, size);
}

// The number that is padded with, as text; NULL: 0.
static const char *read_value(gr_onnx_reading *r) {
  int value = gr_read_in(r, 2, false);
  double v = 0;
  if (value && !gr_read_scalar(r, value, &v))
    gr_read_refuse(r, "pads with a number that is no constant");
  return !v ? NULL : isinf(v) ? v < 0 ? "-.inf" : ".inf" : gr_arena_printf(r->arena, "%.10g", v);
}

// Widths that follow an open size: zeros may, but not what is there in some sizes alone, nor
// elements again.
static void check_open(gr_onnx_reading *r, int64_t (*width)[GR_READ_CHOICES], const char *mode,
                       const char *value) {
  for (int k = 0; k < 2; k++)
    for (int c = 1; c < GR_READ_CHOICES; c++) {
      bool differs = width[k][c] != width[k][0], comes = !width[k][c] != !width[k][0];
      if (strcmp(mode, "constant") != 0 ? differs : value && comes)
        gr_read_refuse(r, "pads an axis by widths that depend on an open size");
    }
}

static bool is_padded(int64_t (*width)[GR_READ_CHOICES]) {
  bool any = false;
  for (int k = 0; k < 2; k++)
    for (int c = 0; c < GR_READ_CHOICES; c++) any |= width[k][c] != 0;
  return any;
}

static int pad_axis(gr_onnx_reading *r, int x, int axis, int64_t (*width)[GR_READ_CHOICES],
                    const char *mode, const char *value) {
  check_open(r, width, mode, value);
  if (strcmp(mode, "constant") != 0)
    return pad_again(r, x, axis, (int64_t[]){width[0][0], width[1][0]}, mode);
  x = cut(r, x, axis, width);
  if (r->err || !is_padded(width)) return x;
  return value ? gr_read_pad_with(r, x, axis, width[0], width[1], value)
               : gr_read_pad_zeros(r, x, axis, width[0], width[1]);
}

void gr_pad_read(gr_onnx_reading *r) {
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  int64_t width[GR_MAX_RANK][2][GR_READ_CHOICES];
  bool last, known = false;
  int x = gr_read_as_is(r, 0, &last);
  const char *mode = gr_read_text(r, "mode", "constant"), *value = read_value(r);
  for (int i = 0; i < 4; i++) known |= !strcmp(mode, modes[i]);
  if (!known) gr_read_refuse(r, "has the mode '%s'", mode);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank;
  read_widths(r, rank, width);
  for (int d = 0; d < rank && !r->err; d++)
    if (is_padded(width[d]))
      x = pad_axis(r, x, gr_read_place(d, rank, last), width[d], mode, value);
  gr_read_out(r, 0, x, last);
}
