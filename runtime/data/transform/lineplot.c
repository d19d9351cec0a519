// lineplot.c - draws a series as an image: a blue line of one pixel on white.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/transform.h"

typedef struct lineplot {
  int64_t height, width, moments;
  int64_t margin;  // rows above and below the plot
} lineplot;

enum { RGB = 3 };

static const gr_schema_key params[] = {
    {"size", "int >= 2 <= 4096 | [int >= 2 <= 4096; 2]", "224", "pixels",
     "height and width of the image, or both"},
    {"margin", "float >= 0 < 0.5", "0.05", "",
     "part of the height that is left free above and below the line"},
    {0}};

static gr_status open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  lineplot *p = *self = GR_NEW(a, lineplot, 1);
  const gr_conf *size = gr_conf_find(conf, "size");
  double margin;
  GR_TRY(gr_conf_float(conf, "margin", 0, &margin));
  if (x->dtype != GR_F32 || x->dim[1] != 1) {
    char type[96];
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "lineplot draws one channel of f32, x is %s",
                gr_type_text(x, type)),
        "data.table.channels: flatten draws each channel of a window as a sample of its own");
  }
  bool both = size->kind == GR_CONF_LIST;
  p->height = both ? size->items[0]->integer : size->integer;
  p->width = both ? size->items[1]->integer : size->integer;
  p->moments = x->dim[0], p->margin = (int64_t)((double)p->height * margin);
  *x = (gr_type){.dtype = GR_U8, .rank = 3, .dim = {p->height, p->width, RGB}};
  return GR_OK;
}

// The column of moment i: the moments are evenly spaced from the first column to the last.
static int64_t column(const lineplot *p, int64_t i) {
  if (i == p->moments - 1 && i) return p->width - 1;
  return p->moments > 1 ? (int64_t)((double)i * ((double)(p->width - 1) / (double)(p->moments - 1)))
                        : 0;
}

typedef struct range {
  float least, most;
} range;

static range range_of(const float *x, int64_t n) {
  range r = {x[0], x[0]};
  for (int64_t i = 1; i < n; i++) r.least = fminf(r.least, x[i]), r.most = fmaxf(r.most, x[i]);
  return r;
}

// The row of a value, from the bottom for the least to the top for the most; the middle where all
// are one. In f32, as the values are, so that a value's row does not depend on a wider dtype.
static int64_t row(const lineplot *p, const range *r, float v) {
  float part = r->most - r->least < 1e-8f ? 0.5f : (v - r->least) / (r->most - r->least);
  return p->height - p->margin - (int64_t)(part * (float)(p->height - 2 * p->margin));
}

static void dot(const lineplot *p, int64_t x, int64_t y, unsigned char *image) {
  static const unsigned char blue[RGB] = {0, 0, 255};
  if (y >= 0 && y < p->height) memcpy(image + (y * p->width + x) * RGB, blue, RGB);
}

// From (x, y) to (to_x, to_y), to_x >= x, by Bresenham's algorithm: one pixel in each step along
// the longer side, and a half is rounded away from the start.
static void line(const lineplot *p, int64_t x, int64_t y, int64_t to_x, int64_t to_y,
                 unsigned char *image) {
  int64_t dx = to_x - x, dy = llabs(to_y - y), down = to_y < y ? -1 : 1;
  bool flat = dx > dy;
  int64_t longer = flat ? dx : dy, shorter = flat ? dy : dx, error = 2 * shorter - longer;
  for (int64_t i = 0; i <= longer; i++) {
    dot(p, x, y, image);
    bool both = error >= 0;
    x += flat || both, y += !flat || both ? down : 0;
    error += 2 * shorter - (both ? 2 * longer : 0);
  }
}

static void apply(const void *self, const gr_type *from, const void *x, void *y,
                  const gr_transform_draw *draw) {
  const lineplot *p = self;
  const float *v = x;
  range r = range_of(v, p->moments);
  (void)from, (void)draw;
  memset(y, 255, (size_t)(p->height * p->width * RGB));
  if (p->moments == 1) dot(p, 0, row(p, &r, v[0]), y);
  for (int64_t i = 1; i < p->moments; i++)
    line(p, column(p, i - 1), row(p, &r, v[i - 1]), column(p, i), row(p, &r, v[i]), y);
}

const gr_transform_ops gr_transform_lineplot = {
    .name = "lineplot",
    .doc =
        "draws a series of one channel, from its least value to its most, as a blue line on "
        "white: bytes [height, width, 3]",
    .params = params,
    .least_rank = 2,
    .most_rank = 2,
    .open = open,
    .apply = apply};
