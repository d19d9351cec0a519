// fit.c - converts and scales pictures; see picture.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "runtime/data/image/picture.h"

// ---- Channels -----------------------------------------------------------------------------------

static void put_pixel(const unsigned char *source, int channels, unsigned char *target,
                      int wanted) {
  int r = source[0], g = channels > 2 ? source[1] : r, b = channels > 2 ? source[2] : r;
  if (wanted == 1) {  // 0.299, 0.587 and 0.114, in 65536ths
    target[0] = (unsigned char)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
    return;
  }
  target[0] = (unsigned char)r, target[1] = (unsigned char)g, target[2] = (unsigned char)b;
  if (wanted == 4) target[3] = channels % 2 ? 255 : source[channels - 1];
}

gr_status gr_picture_convert(const char *path, gr_picture *p, int channels) {
  gr_picture to;
  if (p->channels == channels) return GR_OK;
  GR_TRY(gr_picture_alloc(path, p->height, p->width, channels, &to));
  for (int64_t i = 0; i < p->height * p->width; i++)
    put_pixel(p->pixels + i * p->channels, p->channels, to.pixels + i * channels, channels);
  free(p->pixels);
  *p = to;
  return GR_OK;
}

// ---- Scaling ------------------------------------------------------------------------------------

enum { BITS = 22 };  // of weights' fractions: sums of weights and bytes fit 32 bits

// For each value of a line of the result: which of the source's it is a weighted mean of.
typedef struct taps {
  int64_t *first;
  int *n;
  int32_t *weight;  // [most] for each, in units of 2^-BITS
  int most;
} taps;

// Values [left, right) of a line of `size` become `out`. A result covers a triangle as wide as two
// of its own steps, or as two values of the source where that is scaled up. Borders between values
// are floats, and so is their distance, as Pillow has them.
static taps make_taps(gr_arena *a, int64_t size, float left, float right, int64_t out) {
  double scale = (double)(right - left) / (double)out, wide = scale > 1 ? scale : 1;
  double narrow = 1 / wide;  // Pillow multiplies by it
  taps t = {.first = GR_NEW(a, int64_t, out), .n = GR_NEW(a, int, out)};
  t.most = 2 * (int)ceil(wide) + 1;
  t.weight = GR_NEW(a, int32_t, (size_t)out * (size_t)t.most);
  double *w = GR_NEW(a, double, t.most);
  for (int64_t i = 0; i < out; i++) {
    double centre = (double)left + ((double)i + 0.5) * scale, sum = 0;
    int64_t first = (int64_t)fmax(0, centre - wide + 0.5);
    int64_t end = (int64_t)fmin((double)size, centre + wide + 0.5);
    t.first[i] = first, t.n[i] = (int)(end - first);
    for (int k = 0; k < t.n[i]; k++)
      sum += w[k] = fmax(0, 1 - fabs(((double)(first + k) - centre + 0.5) * narrow));
    for (int k = 0; k < t.n[i]; k++)
      t.weight[i * t.most + k] = (int32_t)lround(w[k] / sum * (1 << BITS));
  }
  return t;
}

static const int32_t half = 1 << (BITS - 1);
static inline unsigned char whole_of(int32_t sum) {
  int32_t v = sum >> BITS;
  return (unsigned char)(v > 255 ? 255 : v);
}

// Pixels of up to 4 channels in the lanes of a vector: 4 bytes are read of each.
typedef int32_t lanes __attribute__((vector_size(16)));
typedef unsigned char pixel __attribute__((vector_size(4)));

static inline void scale_row(const unsigned char *x, int channels, const taps *t, int64_t out,
                             unsigned char *y) {
  for (int64_t i = 0; i < out; i++, y += channels) {
    const unsigned char *source = x + t->first[i] * channels;
    const int32_t *w = t->weight + i * t->most;
    lanes sum = {half, half, half, half};
    for (int k = 0; k < t->n[i]; k++, source += channels) {
      pixel p;
      memcpy(&p, source, sizeof p);
      sum += w[k] * __builtin_convertvector(p, lanes);
    }
    for (int c = 0; c < channels; c++) y[c] = whole_of(sum[c]);
  }
}

// Rows of the image become rows of `out` pixels.
static void scale_rows(const gr_picture *p, const taps *t, int64_t out, unsigned char *y) {
  for (int64_t o = 0; o < p->height; o++) {
    const unsigned char *x = p->pixels + o * p->width * p->channels;
    unsigned char *to = y + o * out * p->channels;
    switch (p->channels) {  // constants, so that each has a loop of its own
      case 1:
        scale_row(x, 1, t, out, to);
        break;
      case 2:
        scale_row(x, 2, t, out, to);
        break;
      case 3:
        scale_row(x, 3, t, out, to);
        break;
      default:
        scale_row(x, 4, t, out, to);
    }
  }
}

// Rows of `n` values become `out` rows; `sum` has room for one.
static void scale_columns(const unsigned char *x, int64_t n, const taps *t, int64_t out,
                          int32_t *restrict sum, unsigned char *restrict y) {
  for (int64_t i = 0; i < out; i++, y += n) {
    for (int64_t c = 0; c < n; c++) sum[c] = half;
    for (int k = 0; k < t->n[i]; k++) {
      const unsigned char *source = x + (t->first[i] + k) * n;
      int32_t w = t->weight[i * t->most + k];
      for (int64_t c = 0; c < n; c++) sum[c] += w * source[c];
    }
    for (int64_t c = 0; c < n; c++) y[c] = whole_of(sum[c]);
  }
}

// What is transparent has no part in the colour of a mean: colours are multiplied by alpha before
// they are scaled, and divided by it afterwards.
static void multiply_by_alpha(unsigned char *x, int64_t n) {
  for (; n--; x += 4)
    for (int c = 0; c < 3; c++) x[c] = (unsigned char)((x[c] * x[3] + 127) / 255);
}

static void divide_by_alpha(unsigned char *x, int64_t n) {
  for (; n--; x += 4)
    for (int c = 0; c < 3 && x[3]; c++)
      x[c] = (unsigned char)(x[c] < x[3] ? 255 * x[c] / x[3] : 255);
}

// The part of the image that becomes the result.
typedef struct box {
  float top, bottom, left, right;
} box;

static gr_status scale(gr_picture *p, box b, int64_t height, int64_t width, unsigned char *out) {
  size_t bytes = (size_t)(p->height * width) * (size_t)p->channels;
  unsigned char *narrow = malloc(bytes);
  if (!narrow)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to scale an image (%zu bytes)", bytes);
  gr_arena *a = gr_arena_create();
  taps h = make_taps(a, p->width, b.left, b.right, width);
  taps v = make_taps(a, p->height, b.top, b.bottom, height);
  if (p->channels == 4) multiply_by_alpha(p->pixels, p->height * p->width);
  scale_rows(p, &h, width, narrow);
  int64_t n = width * p->channels;
  scale_columns(narrow, n, &v, height, GR_NEW(a, int32_t, n), out);
  if (p->channels == 4) divide_by_alpha(out, height * width);
  gr_arena_destroy(a);
  free(narrow);
  return GR_OK;
}

static box cover(const gr_picture *p, int64_t height, int64_t width) {
  double h = (double)p->height, w = (double)p->width, wanted = (double)width / (double)height;
  if (w > h * wanted)
    w = h * wanted;
  else
    h = w / wanted;
  double top = ((double)p->height - h) / 2, left = ((double)p->width - w) / 2;
  return (box){(float)top, (float)(top + h), (float)left, (float)(left + w)};
}

static void crop(const gr_picture *p, int64_t height, int64_t width, unsigned char outside,
                 unsigned char *out) {
  int64_t top = (p->height - height) / 2, left = (p->width - width) / 2;
  int64_t first = left < 0 ? -left : 0, n = width < p->width ? width : p->width;
  memset(out, outside, (size_t)(height * width) * (size_t)p->channels);
  for (int64_t i = 0; i < height; i++)
    if (top + i >= 0 && top + i < p->height)
      memcpy(out + (i * width + first) * p->channels,
             p->pixels + ((top + i) * p->width + left + first) * p->channels,
             (size_t)n * (size_t)p->channels);
}

gr_status gr_picture_fit(gr_picture *p, gr_picture_resize how, int64_t height, int64_t width,
                         unsigned char *out) {
  if (how == GR_PICTURE_CROP || (p->height == height && p->width == width)) {
    crop(p, height, width, 0, out);
    return GR_OK;
  }
  box whole = {0, (float)p->height, 0, (float)p->width};
  return scale(p, how == GR_PICTURE_COVER ? cover(p, height, width) : whole, height, width, out);
}

// The value that each of a line of `out` takes; the sum of steps is Pillow's.
static int64_t *nearest(gr_arena *a, int64_t size, float left, float right, int64_t out) {
  int64_t *source = GR_NEW(a, int64_t, out);
  double step = (double)(right - left) / (double)out, x = (double)left + step * 0.5;
  for (int64_t i = 0; i < out; i++, x += step)
    source[i] = x < 0 ? 0 : x >= (double)size ? size - 1 : (int64_t)x;
  return source;
}

void gr_picture_nearest(const gr_picture *p, gr_picture_resize how, int64_t height, int64_t width,
                        unsigned char outside, unsigned char *out) {
  if (how == GR_PICTURE_CROP) {
    crop(p, height, width, outside, out);
    return;
  }
  box b = {0, (float)p->height, 0, (float)p->width};
  if (how == GR_PICTURE_COVER) b = cover(p, height, width);
  gr_arena *a = gr_arena_create();
  const int64_t *row = nearest(a, p->height, b.top, b.bottom, height);
  const int64_t *column = nearest(a, p->width, b.left, b.right, width);
  for (int64_t i = 0; i < height; i++)
    for (int64_t k = 0; k < width; k++) *out++ = p->pixels[row[i] * p->width + column[k]];
  gr_arena_destroy(a);
}

// ---- Back ---------------------------------------------------------------------------------------

// The whole picture, scaled.
static gr_status stretch(gr_picture *p, bool classes, int64_t height, int64_t width,
                         unsigned char *out) {
  if (!classes) return gr_picture_fit(p, GR_PICTURE_STRETCH, height, width, out);
  gr_picture_nearest(p, GR_PICTURE_STRETCH, height, width, 0, out);
  return GR_OK;
}

// The part of the image that the picture shows is scaled, and put in its place.
static gr_status uncover(gr_picture *p, bool classes, int64_t height, int64_t width,
                         unsigned char *out) {
  const gr_picture image = {.height = height, .width = width};
  box b = cover(&image, p->height, p->width);
  int64_t top = lroundf(b.top), left = lroundf(b.left);
  int64_t h = lroundf(b.bottom) - top, w = lroundf(b.right) - left, c = p->channels;
  if (h < 1 || w < 1) return GR_OK;
  gr_arena *a = gr_arena_create();
  unsigned char *part = gr_arena_alloc(a, (size_t)(h * w * c) + 1);
  gr_status s = stretch(p, classes, h, w, part);
  for (int64_t i = 0; i < h && !s; i++)
    memcpy(out + ((top + i) * width + left) * c, part + i * w * c, (size_t)(w * c));
  gr_arena_destroy(a);
  return s;
}

gr_status gr_picture_back(gr_picture *p, gr_picture_resize how, bool classes, int64_t height,
                          int64_t width, unsigned char outside) {
  size_t n = (size_t)(height * width) * (size_t)p->channels;
  unsigned char *out = malloc(n + GR_PICTURE_SPARE);
  gr_status s = GR_OK;
  if (!out) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for an image (%zu bytes)", n);
  memset(out, outside, n + GR_PICTURE_SPARE);
  if (how == GR_PICTURE_CROP)
    crop(p, height, width, outside, out);
  else if (how == GR_PICTURE_COVER)
    s = uncover(p, classes, height, width, out);
  else
    s = stretch(p, classes, height, width, out);
  free(s ? out : p->pixels);
  if (!s) *p = (gr_picture){height, width, p->channels, out};
  return s;
}
