// preview.c - what the input of a sample looks like, as JSON of bounded size. See dataset.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ir/graph.h"
#include "runtime/data/parts.h"

enum { MAX_VALUES = 16384, MAX_ROW = 256, MAX_TOKENS = 4096, MAX_TEXT = 8192, MAX_FRAMES = 4 };

static int find_x(const gr_dataset *d) {
  for (int f = 0; f < d->n_fields; f++)
    if (!strcmp(d->field[f].name, "x")) return f;
  return -1;
}

// The type of the sample's own x: without padding, and before transforms.
static gr_type type_of(const gr_dataset *d, int field, const gr_sample *s) {
  if (d->transforms && d->transforms->field == field) return d->transforms->source;
  gr_batch one;
  gr_contract_shapes(&d->contract, s->bucket, 1, &one);
  gr_type t = one.field[field].type;
  t.rank--;
  for (int k = 0; k < t.rank; k++)
    t.dim[k] = d->field[field].dim[k] == GR_DIM_LENGTH ? s->length : t.dim[k + 1];
  return t;
}

static double value_at(const gr_type *t, const void *x, int64_t i) {
  switch (t->dtype) {
    case GR_U8:
      return ((const uint8_t *)x)[i];
    case GR_I32:
      return ((const int32_t *)x)[i];
    case GR_I64:
      return (double)((const int64_t *)x)[i];
    default:
      return (double)((const float *)x)[i];
  }
}

// ---- Rows and texts -------------------------------------------------------------------------

static void put_row(gr_text *out, const gr_type *t, const void *x) {
  int64_t n = t->rank ? t->dim[0] : 1;
  if (n > MAX_ROW) n = MAX_ROW;
  gr_text_printf(out, "{\"shape\": [%lld], \"values\": [", (long long)n);
  for (int64_t i = 0; i < n; i++) {
    gr_text_json_next(out);
    gr_text_json_rounded(out, value_at(t, x, i), 6);
  }
  gr_text_put(out, "]}");
}

static void put_tokens(const gr_dataset *d, gr_text *out, int64_t n, const int32_t *tokens) {
  gr_text text = gr_text_make(out->arena);
  gr_dataset_decode(d, tokens, n < MAX_TOKENS ? n : MAX_TOKENS, &text);
  size_t len = text.len < MAX_TEXT ? text.len : MAX_TEXT;
  while (len < text.len && len && (text.chars[len] & 0xc0) == 0x80) len--;  // a whole character
  gr_text_put(out, "{");
  gr_text_json_member(out, "text", gr_arena_strndup(out->arena, text.len ? text.chars : "", len));
  gr_text_put(out, "}");
}

// ---- Arrays ---------------------------------------------------------------------------------

// An array as frames of pixels with channels, of which some are kept: `frames` evenly spaced ones,
// means over `down` x `across` pixels, and the first `channels`.
typedef struct picture {
  const gr_type *type;
  const void *x;
  int64_t of, height, width, depth;  // its dimensions
  int64_t frames, down, across, channels;
  int64_t rows, columns;  // pixels that are kept of a frame
} picture;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static int64_t size_of(picture *p) {
  p->rows = up(p->height, p->down), p->columns = up(p->width, p->across);
  return p->frames * p->rows * p->columns * p->channels;
}

// The longer side is reduced first.
static picture fit(const gr_type *t, const void *x) {
  picture p = {.type = t, .x = x, .of = 1, .depth = 1, .down = 1, .across = 1};
  const int64_t *dim = t->dim;
  if (t->rank == 4) p.of = *dim++;
  p.height = dim[0], p.width = dim[1];
  if (t->rank > 2) p.depth = dim[2];
  p.frames = p.of < MAX_FRAMES ? p.of : MAX_FRAMES;
  p.channels = p.depth == 3 || p.depth == 4 ? 3 : 1;
  while (size_of(&p) > MAX_VALUES)
    if (p.rows >= p.columns)
      p.down++;
    else
      p.across++;
  return p;
}

static double mean_at(const picture *p, int64_t frame, int64_t row, int64_t column, int64_t c) {
  double sum = 0;
  int64_t n = 0, first = (frame * p->of / p->frames) * p->height;
  for (int64_t y = row * p->down; y < (row + 1) * p->down && y < p->height; y++)
    for (int64_t x = column * p->across; x < (column + 1) * p->across && x < p->width; x++, n++)
      sum += value_at(p->type, p->x, ((first + y) * p->width + x) * p->depth + c);
  return n ? sum / (double)n : 0;
}

// Values that are not finite are drawn as the lowest.
static void put_bytes(gr_text *out, const double *v, size_t n) {
  unsigned char *bytes = gr_arena_alloc(out->arena, n + 1);
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < n; i++)
    if (isfinite(v[i])) low = fmin(low, v[i]), high = fmax(high, v[i]);
  if (!(low <= high)) low = high = 0;
  for (size_t i = 0; i < n; i++) {
    double part = high > low && isfinite(v[i]) ? (v[i] - low) / (high - low) : 0;
    bytes[i] = (unsigned char)(255 * part + 0.5);
  }
  gr_text_json_key(out, "low"), gr_text_json_float(out, low);
  gr_text_json_key(out, "high"), gr_text_json_float(out, high);
  gr_text_put(out, ", \"values\": \"");
  gr_text_base64(out, bytes, n);
  gr_text_put(out, "\"}");
}

static void put_array(gr_text *out, const gr_type *t, const void *x) {
  picture p = fit(t, x);
  double *v = GR_NEW(out->arena, double, size_of(&p) + 1), *to = v;
  for (int64_t f = 0; f < p.frames; f++)
    for (int64_t y = 0; y < p.rows; y++)
      for (int64_t i = 0; i < p.columns; i++)
        for (int64_t c = 0; c < p.channels; c++) *to++ = mean_at(&p, f, y, i, c);
  gr_text_put(out, "{\"shape\": [");
  if (t->rank == 4) gr_text_printf(out, "%lld, ", (long long)p.frames);
  gr_text_printf(out, "%lld, %lld", (long long)p.rows, (long long)p.columns);
  if (t->rank > 2) gr_text_printf(out, ", %lld", (long long)p.channels);
  gr_text_put(out, "]");
  put_bytes(out, v, (size_t)(to - v));
}

// ---- A sample -------------------------------------------------------------------------------

// Whether numbers are symbols of a text.
static bool has_vocabulary(const gr_dataset *d) {
  gr_metadata m[GR_MAX_METADATA];
  int n = gr_dataset_metadata(d, m);
  while (n && strcmp(m[n - 1].name, "vocab") != 0) n--;
  return n;
}

static void put_x(const gr_dataset *d, gr_text *out, gr_type t, const void *x) {
  while (t.rank > 2 && t.dim[0] == 1) memmove(t.dim, t.dim + 1, sizeof *t.dim * (size_t)--t.rank);
  if (t.rank == 1 && t.dtype == GR_I32 && has_vocabulary(d))
    put_tokens(d, out, t.dim[0], x);
  else if (t.rank < 2)
    put_row(out, &t, x);
  else if (t.rank <= 4)
    put_array(out, &t, x);
}

static gr_status fill(const gr_dataset *d, uint32_t sample, int x, const gr_loaded *loaded,
                      gr_text *out) {
  const gr_sample *s = &d->samples[sample];
  const gr_draw draw = {.number = sample};
  gr_row row = {.length = d->buckets[s->bucket].length};
  gr_transform_row transformed;
  gr_batch one;
  gr_contract_shapes(&d->contract, s->bucket, 1, &one);
  for (int f = 0; f < d->n_fields; f++)
    row.field[f] = gr_arena_alloc(out->arena, gr_type_bytes(&one.field[f].type) + 1);
  GR_TRY(gr_transforms_begin(d->transforms, &row, &transformed));
  gr_dataset_fill(d, sample, loaded, &draw, &row);
  put_x(d, out, type_of(d, x, s), row.field[x]);
  gr_transforms_drop(&transformed);
  return GR_OK;
}

gr_status gr_dataset_preview(gr_dataset *d, uint32_t sample, gr_text *json) {
  gr_loaded loaded = {0};
  bool kept = true, there = false;
  int x = find_x(d);
  if (x < 0) return GR_OK;
  GR_TRY(gr_cache_get(d, sample, &loaded, &kept, &there));
  gr_status s = there ? fill(d, sample, x, &loaded, json) : GR_OK;
  if (!kept) free(loaded.data);
  return s;
}
