// rotate.c - turns images and videos round their centre.
#include <math.h>
#include <string.h>
#include "runtime/data/transform.h"

typedef struct rotate {
  double degrees, fill;
  int64_t frames, height, width, channels;
} rotate;

static const gr_schema_key params[] = {
    {"degrees", "float >= 0 <= 180", "15", "degrees", "largest angle, in both directions"},
    {"fill", "float", "0", "", "value of what is turned in from outside"},
    {0}};

static gr_status rotate_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  rotate *t = *self = GR_NEW(a, rotate, 1);
  const int64_t *dim = x->dim + x->rank - 3;
  t->frames = x->rank == 4 ? x->dim[0] : 1;
  t->height = dim[0], t->width = dim[1], t->channels = dim[2];
  GR_TRY(gr_conf_float(conf, "degrees", 0, &t->degrees));
  return gr_conf_float(conf, "fill", 0, &t->fill);
}

// One frame: each pixel of the result is interpolated (bilinear) where it comes from.
typedef struct frame {
  const rotate *t;
  gr_dtype dtype;
  const void *x;
  void *y;
  int64_t first;  // value of the frame
  double cosine, sine;
} frame;

static double value(const frame *f, int64_t i, int64_t k, int64_t c) {
  const rotate *t = f->t;
  if (i < 0 || i >= t->height || k < 0 || k >= t->width) return t->fill;
  return gr_transform_get(f->dtype, f->x, f->first + (i * t->width + k) * t->channels + c);
}

// Labels are not mixed: the nearest one.
static void turn_label(const frame *f, int64_t pixel, double y, double x) {
  gr_transform_put(f->dtype, f->y, f->first + pixel,
                   value(f, (int64_t)floor(y + 0.5), (int64_t)floor(x + 0.5), 0));
}

static void turn_pixel(const frame *f, int64_t i, int64_t k) {
  const rotate *t = f->t;
  double cy = 0.5 * (double)(t->height - 1), cx = 0.5 * (double)(t->width - 1);
  double dy = (double)i - cy, dx = (double)k - cx;
  double y = cy + f->cosine * dy + f->sine * dx, x = cx - f->sine * dy + f->cosine * dx;
  if (f->dtype == GR_I32) {
    turn_label(f, i * t->width + k, y, x);
    return;
  }
  double top = floor(y), left = floor(x), v = y - top, h = x - left;
  int64_t r = (int64_t)top, q = (int64_t)left, offset = f->first + (i * t->width + k) * t->channels;
  for (int64_t c = 0; c < t->channels; c++) {
    double above = (1 - h) * value(f, r, q, c) + h * value(f, r, q + 1, c);
    double below = (1 - h) * value(f, r + 1, q, c) + h * value(f, r + 1, q + 1, c);
    gr_transform_put(f->dtype, f->y, offset + c, (1 - v) * above + v * below);
  }
}

static void rotate_apply(const void *self, const gr_type *type, const void *x, void *y,
                         const gr_transform_draw *draw) {
  const rotate *t = self;
  if (!draw || t->degrees == 0) {
    memcpy(y, x, gr_type_bytes(type));
    return;
  }
  double angle = gr_transform_between(draw, 0, -t->degrees, t->degrees) * (acos(-1.0) / 180);
  frame f = {
      .t = t, .dtype = type->dtype, .x = x, .y = y, .cosine = cos(angle), .sine = sin(angle)};
  for (int64_t n = 0; n < t->frames; n++) {
    f.first = n * t->height * t->width * t->channels;
    for (int64_t i = 0; i < t->height; i++)
      for (int64_t k = 0; k < t->width; k++) turn_pixel(&f, i, k);
  }
}

const gr_transform_ops gr_transform_rotate = {.name = "rotate",
                                              .doc = "turns a sample round its centre, bilinear",
                                              .params = params,
                                              .mask = GR_MASK_MOVED,
                                              .least_rank = 3,
                                              .most_rank = 4,
                                              .open = rotate_open,
                                              .apply = rotate_apply};
