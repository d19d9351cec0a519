// resize_read.c - reads a Resize of ONNX: each axis is a product with a constant matrix, in which a
// row has the weights of the elements that a new element is made of, or repeats its elements.
#include <math.h>
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

typedef struct resize {
  const char *mode, *place, *nearest;
  double cubic;  // coefficient
} resize;

// Where element i of the result lies among those of the axis: in f32, as programs of ONNX compute
// it. In more digits a factor such as 0.7 is another number, and an element in the middle of two is
// not there.
static float place(const resize *z, int64_t i, float scale, int64_t size, int64_t out) {
  float x = (float)i;
  if (!strcmp(z->place, "align_corners"))
    return out == 1 ? 0 : x * (float)(size - 1) / (float)(out - 1);
  if (!strcmp(z->place, "asymmetric")) return x / scale;
  if (out == 1 && !strcmp(z->place, "pytorch_half_pixel")) return 0;
  return (x + 0.5f) / scale - 0.5f;
}

static double nearest(const resize *z, double x) {
  if (!strcmp(z->nearest, "floor")) return floor(x);
  if (!strcmp(z->nearest, "ceil")) return ceil(x);
  return !strcmp(z->nearest, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

// The weight of an element at that distance (Keys 1981 for cubic).
static double weight(const resize *z, double d) {
  double a = z->cubic;
  d = fabs(d);
  if (!strcmp(z->mode, "linear")) return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void row(const resize *z, double x, int64_t size, float *to) {
  bool one = !strcmp(z->mode, "nearest");
  double first = one ? nearest(z, x) : floor(x) - 1;
  for (int k = 0; k < (one ? 1 : 4); k++) {
    double i = first + k, inside = fmin(fmax(i, 0), (double)(size - 1));
    to[(int64_t)inside] += (float)(one ? 1 : weight(z, x - i));
  }
}

// Each element so many times.
static int repeat(gr_onnx_reading *r, int x, int axis, int64_t times) {
  int64_t size[GR_READ_CHOICES], sizes[GR_MAX_RANK][GR_READ_CHOICES];
  if (r->err) return 0;
  int rank = gr_read_type(r, x)->rank;
  gr_read_same(size, times), gr_read_dims(r, x, 0, rank, sizes);
  for (int c = 0; c < GR_READ_CHOICES; c++) sizes[axis][c] *= times;
  x = gr_read_repeat(r, x, axis + 1, size);
  return gr_read_reshape(r, x, rank, sizes);
}

static int along(gr_onnx_reading *r, const resize *z, int x, int axis, double scale, int64_t out) {
  enum { MOST = 1 << 24 };
  int64_t size = gr_read_type(r, x)->dim[axis], times = (int64_t)scale;
  bool exact =
      (double)times == scale && out == size * times && gr_read_type(r, x)->rank < GR_MAX_RANK;
  bool first = !strcmp(z->place, "asymmetric") && !strcmp(z->nearest, "floor");
  bool middle = !strcmp(z->place, "half_pixel") && !strncmp(z->nearest, "round", 5);
  if (exact && !strcmp(z->mode, "nearest") && (first || middle)) return repeat(r, x, axis, times);
  if (out < 1 || size < 1 || out > MOST / size)
    gr_read_refuse(r, "makes %lld of %lld elements", (long long)out, (long long)size);
  float *matrix = r->err ? NULL : GR_NEW(r->arena, float, (size_t)(out * size));
  for (int64_t i = 0; i < out && !r->err; i++)
    row(z, (double)place(z, i, (float)scale, size, out), size, matrix + i * size);
  return r->err ? 0 : gr_read_mix(r, x, axis, out, matrix);
}

static bool is_one_of(const char *word, const char *words) {
  size_t n = strlen(word);
  for (const char *p = words; *p; p += strcspn(p, " "), p += strspn(p, " "))
    if (strcspn(p, " ") == n && !strncmp(p, word, n)) return true;
  return false;
}

static bool open(gr_onnx_reading *r, resize *z) {
  z->mode = gr_read_text(r, "mode", "nearest");
  z->place = gr_read_text(r, "coordinate_transformation_mode", "half_pixel");
  z->nearest = gr_read_text(r, "nearest_mode", "round_prefer_floor");
  z->cubic = gr_read_float(r, "cubic_coeff_a", -0.75);
  gr_read_float(r, "extrapolation_value", 0), gr_read_only(r, "exclude_outside", 0);
  gr_read_only(r, "antialias", 0);
  if (!is_one_of(z->mode, "nearest linear cubic") ||
      !is_one_of(z->place, "half_pixel pytorch_half_pixel align_corners asymmetric") ||
      strcmp(gr_read_text(r, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
    gr_read_refuse(r, "has the mode '%s' of '%s', which is not read", z->mode, z->place);
  return !r->err;
}

// The factor of ONNX's axis d, from operands 2 or 3.
static double factor(gr_onnx_reading *r, int scales, int64_t (*sizes)[GR_READ_CHOICES], int d,
                     int64_t size) {
  double s = sizes ? (double)sizes[d][0] / (double)size
                   : (double)((const float *)r->vars[scales].data[0])[d];
  if (!(s > 0) || !(s < 1e6)) gr_read_refuse(r, "has the factor %g", s);
  return r->err ? 1 : s;
}

void gr_resize_read(gr_onnx_reading *r) {
  resize z;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  if (!open(r, &z)) return;
  int x = gr_read_in_last(r, 0), scales = gr_read_in(r, 2, false), given = gr_read_in(r, 3, false);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank,
      n = given ? gr_read_numbers(r, given, GR_MAX_RANK, sizes) : 0;
  const gr_read_var *s = &r->vars[scales];
  bool known = scales && s->data[0] && s->type[0].dtype == GR_F32;
  if (given ? n != rank : !known || gr_type_count(&s->type[0]) != rank)
    gr_read_refuse(r, "has factors that are no constants, or not of all axes");
  for (int d = 0; d < rank && !r->err; d++) {
    int axis = gr_read_place(d, rank, true);
    int64_t size = gr_read_type(r, x)->dim[axis];
    double f = factor(r, scales, given ? sizes : NULL, d, size);
    int64_t out = given ? sizes[d][0] : (int64_t)floor((double)size * f);
    if (d < 2 && f != 1) gr_read_refuse(r, "resizes samples or channels");
    if (d > 1 && !r->err && (out != size || f != 1)) x = along(r, &z, x, axis, f, out);
  }
  gr_read_out(r, 0, x, true);
}
