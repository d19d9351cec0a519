// lineplot.c - draws a series as an image: a blue line of one pixel on white, one plot below
// another for each channel.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/transform.h"

typedef struct range {
  float least, most;
} range;

typedef struct lineplot {
  int64_t height, width, moments, channels;
  int64_t margin;  // rows above and below the line
  bool fixed;      // every plot shows `range`
  range range;
} lineplot;

enum { RGB = 3, MAX_VALUES = 1 << 28 };

static const gr_schema_key params[] = {
    {"size", "int >= 2 <= 4096 | [int >= 2 <= 4096; 2]", "224", "pixels",
     "height and width of a channel's plot, or both"},
    {"margin", "float >= 0 < 0.5", "0.05", "",
     "part of a plot's height that is left free above and below the line"},
    {"range", "[float; 2] | null", "null", "",
     "least and most value that a plot shows, beyond which a line runs along the margin; null: the "
     "least and the most of the channel in the sample"},
    {0}};

static float number_of(const gr_conf *c) { return (float)gr_conf_number(c); }

static gr_status read_range(const gr_conf *c, lineplot *p) {
  p->fixed = c->kind == GR_CONF_LIST;
  if (!p->fixed) return GR_OK;
  p->range = (range){number_of(c->items[0]), number_of(c->items[1])};
  if (p->range.least < p->range.most) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "the range of lineplot is from %g to %g",
                         (double)p->range.least, (double)p->range.most),
                 "the least value, then the most: range: [-3, 3]");
}

static gr_status plot_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  lineplot *p = *self = GR_NEW(a, lineplot, 1);
  const gr_conf *size = gr_conf_find(conf, "size");
  double margin;
  GR_TRY(gr_conf_float(conf, "margin", 0, &margin));
  GR_TRY(read_range(gr_conf_find(conf, "range"), p));
  GR_TRY(gr_transform_needs_floats(x, "lineplot"));
  bool both = size->kind == GR_CONF_LIST;
  p->height = both ? size->items[0]->integer : size->integer;
  p->width = both ? size->items[1]->integer : size->integer;
  p->moments = x->dim[0], p->channels = x->dim[1];
  p->margin = (int64_t)((double)p->height * margin);
  if (p->channels > MAX_VALUES / (p->height * p->width * RGB))
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                           "lineplot would make %lld plots of %lld x %lld of a sample, more than "
                           "2^28 values",
                           (long long)p->channels, (long long)p->height, (long long)p->width),
                   "a smaller size, or data.table.channels: flatten, which makes each channel a "
                   "sample of its own");
  *x = (gr_type){.dtype = GR_U8, .rank = 3, .dim = {p->channels * p->height, p->width, RGB}};
  return GR_OK;
}

// The column of moment i: the moments are evenly spaced from the first column to the last.
static int64_t plot_column(const lineplot *p, int64_t i) {
  if (i == p->moments - 1 && i) return p->width - 1;
  return p->moments > 1 ? (int64_t)((double)i * ((double)(p->width - 1) / (double)(p->moments - 1)))
                        : 0;
}

// What the plot of a channel shows, whose values are p->channels apart.
static range range_of(const lineplot *p, const float *x) {
  range r = {x[0], x[0]};
  if (p->fixed) return p->range;
  for (int64_t i = 1; i < p->moments; i++) {
    float v = x[i * p->channels];
    r.least = fminf(r.least, v), r.most = fmaxf(r.most, v);
  }
  return r;
}

// The row of a value, from the bottom for the least to the top for the most; the middle where all
// are one. In f32, as the values are, so that a value's row does not depend on a wider dtype.
static int64_t plot_row(const lineplot *p, const range *r, float v) {
  v = fminf(fmaxf(v, r->least), r->most);
  float part = r->most - r->least < 1e-8f ? 0.5f : (v - r->least) / (r->most - r->least);
  return p->height - p->margin - (int64_t)(part * (float)(p->height - 2 * p->margin));
}

static void draw_dot(const lineplot *p, int64_t x, int64_t y, unsigned char *image) {
  static const unsigned char blue[RGB] = {0, 0, 255};
  if (y >= 0 && y < p->height) memcpy(image + (y * p->width + x) * RGB, blue, RGB);
}

// From (x, y) to (to_x, to_y), to_x >= x, by Bresenham's algorithm: one pixel in each step along
// the longer side, and a half is rounded away from the start.
static void draw_line(const lineplot *p, int64_t x, int64_t y, int64_t to_x, int64_t to_y,
                      unsigned char *image) {
  int64_t dx = to_x - x, dy = llabs(to_y - y), down = to_y < y ? -1 : 1;
  bool flat = dx > dy;
  int64_t longer = flat ? dx : dy, shorter = flat ? dy : dx, error = 2 * shorter - longer;
  for (int64_t i = 0; i <= longer; i++) {
    draw_dot(p, x, y, image);
    bool both = error >= 0;
    x += flat || both, y += !flat || both ? down : 0;
    error += 2 * shorter - (both ? 2 * longer : 0);
  }
}

static void draw_channel(const lineplot *p, const float *x, unsigned char *image) {
  range r = range_of(p, x);
  int64_t previous = plot_row(p, &r, x[0]);
  if (p->moments == 1) draw_dot(p, 0, previous, image);
  for (int64_t i = 1; i < p->moments; i++) {
    int64_t next = plot_row(p, &r, x[i * p->channels]);
    draw_line(p, plot_column(p, i - 1), previous, plot_column(p, i), next, image);
    previous = next;
  }
}

static void plot_apply(const void *self, const gr_type *type, const void *x, void *y,
                       const gr_transform_draw *draw) {
  const lineplot *p = self;
  int64_t bytes = p->height * p->width * RGB;  // of a plot
  (void)type, (void)draw;
  memset(y, 255, (size_t)(p->channels * bytes));
  for (int64_t c = 0; c < p->channels; c++)
    draw_channel(p, (const float *)x + c, (unsigned char *)y + c * bytes);
}

const gr_transform_ops gr_transform_lineplot = {
    .name = "lineplot",
    .doc =
        "draws a series as blue lines on white, one plot below another for each channel: bytes "
        "[channels * height, width, 3]",
    .params = params,
    .least_rank = 2,
    .most_rank = 2,
    .open = plot_open,
    .apply = plot_apply};
