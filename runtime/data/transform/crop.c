// crop.c - takes a random part of images and videos, which may be padded before.
#include <string.h>
#include "runtime/data/transform.h"

typedef struct crop {
  int64_t frames, height, width, h, w, pad;  // of x without padding, and of the result
  size_t pixel;                              // bytes
  gr_dtype dtype;
  double fill;
} crop;

static const gr_schema_key params[] = {
    {"size", "int >= 1 <= 65536 | [int >= 1 <= 65536; 2] | null", "null", "pixels",
     "height and width of the part, or one number for both; null: the size of x, with `pad`"},
    {"pad", "int >= 0 <= 65536", "0", "pixels", "rows and columns added at each side before"},
    {"fill", "float", "0", "", "their value"},
    {0}};

static void read_size(const gr_conf *c, crop *t) {
  t->h = t->height, t->w = t->width;
  if (c->kind == GR_CONF_INT) t->h = t->w = c->integer;
  if (c->kind == GR_CONF_LIST) t->h = c->items[0]->integer, t->w = c->items[1]->integer;
}

static gr_status crop_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  crop *t = *self = GR_NEW(a, crop, 1);
  int64_t *dim = x->dim + x->rank - 3;
  *t = (crop){.frames = x->rank == 4 ? x->dim[0] : 1,
              .height = dim[0],
              .width = dim[1],
              .pixel = (size_t)dim[2] * gr_dtypes[x->dtype].size,
              .dtype = x->dtype};
  gr_conf *size = gr_conf_find(conf, "size");
  GR_TRY(gr_conf_int(conf, "pad", 0, &t->pad));
  GR_TRY(gr_conf_float(conf, "fill", 0, &t->fill));
  read_size(size, t);
  if (t->h > t->height + 2 * t->pad || t->w > t->width + 2 * t->pad)
    return gr_hint(gr_fail(GR_ERR_CONFIG, size->loc,
                           "a crop of [%lld, %lld] is larger than x of [%lld, %lld] with %lld of "
                           "padding at each side",
                           (long long)t->h, (long long)t->w, (long long)dim[0], (long long)dim[1],
                           (long long)t->pad),
                   "a smaller size, or more pad");
  dim[0] = t->h, dim[1] = t->w;
  return GR_OK;
}

// Where the part begins on an axis, without padding: at random, or so that it is in the middle.
static int64_t start_of(const crop *t, const gr_transform_draw *draw, uint32_t i, int64_t size,
                        int64_t target) {
  int64_t room = size + 2 * t->pad - target;
  return (draw ? (int64_t)(gr_transform_uniform(draw, i) * (double)(room + 1)) : room / 2) - t->pad;
}

static void crop_apply(const void *self, const gr_type *type, const void *x, void *y,
                       const gr_transform_draw *draw) {
  const crop *t = self;
  int64_t top = start_of(t, draw, 0, t->height, t->h), left = start_of(t, draw, 1, t->width, t->w);
  int64_t first = left < 0 ? -left : 0;  // columns of x in the result: [first, end)
  int64_t end = t->width - left < t->w ? t->width - left : t->w;
  int64_t rows = t->frames * t->h, values = rows * t->w * type->dim[type->rank - 1];
  if (first || end < t->w || top < 0 || top + t->h > t->height)
    for (int64_t i = 0; i < values; i++) gr_transform_put(t->dtype, y, i, t->fill);
  for (int64_t i = 0; i < rows; i++) {
    int64_t row = top + i % t->h;
    if (row < 0 || row >= t->height || first >= end) continue;
    int64_t source = (i / t->h * t->height + row) * t->width + left + first;
    memcpy((char *)y + (size_t)(i * t->w + first) * t->pixel,
           (const char *)x + (size_t)source * t->pixel, (size_t)(end - first) * t->pixel);
  }
}

const gr_transform_ops gr_transform_crop = {
    .name = "crop",
    .doc = "takes a part at a random place; that in the middle of samples not trained on",
    .params = params,
    .mask = GR_MASK_MOVED,
    .least_rank = 3,
    .most_rank = 4,
    .open = crop_open,
    .apply = crop_apply};
