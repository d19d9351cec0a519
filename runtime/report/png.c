// png.c - images as PNG files, see png.h; and a square matrix as one of 256 shades: white to blue,
// at most 256 kB. See table.h. The pixels are stored without compression, which needs no library.
#include "runtime/report/png.h"
#include <assert.h>
#include <math.h>
#include "base/crc.h"
#include "runtime/report/table.h"

enum { SIDE = 128, MAX_STORED = 65535 };  // pixels, about; bytes of a stored block of deflate

static void put_big(gr_text *t, uint32_t v) {
  for (int i = 24; i >= 0; i -= 8) gr_text_putn(t, &(char){(char)(v >> i)}, 1);
}

static void put_chunk(gr_text *t, const char *type, const gr_text *data) {
  put_big(t, (uint32_t)data->len);
  size_t first = t->len;
  gr_text_putn(t, type, 4);
  if (data->len) gr_text_putn(t, data->chars, data->len);
  put_big(t, gr_crc(GR_CRC32, 0, t->chars + first, t->len - first));
}

enum { GRAY = 0, RGB = 2, INDEX = 3 };  // kinds of pixels; INDEX: into a palette

// Of 8 bits a value.
static void put_header(gr_text *t, gr_text *work, int64_t height, int64_t width, char kind) {
  gr_text_putn(t, "\x89PNG\r\n\x1a\n", 8);
  work->len = 0;
  put_big(work, (uint32_t)width);
  put_big(work, (uint32_t)height);
  gr_text_putn(work, (char[]){8, kind, 0, 0, 0}, 5);
  put_chunk(t, "IHDR", work);
}

static void put_palette(gr_text *t, gr_text *work) {
  work->len = 0;
  for (int i = 0; i < 256; i++) {
    char rgb[3] = {(char)(255 - 247 * i / 255), (char)(255 - 174 * i / 255),
                   (char)(255 - 99 * i / 255)};
    gr_text_putn(work, rgb, 3);
  }
  put_chunk(t, "PLTE", work);
}

static int shade(const gr_table *a, int64_t i, int64_t k) {
  double whole = 0;
  for (int64_t c = 0; c < a->dim[1]; c++) whole += fabs((double)a->values[i * a->dim[1] + c]);
  double part = whole > 0 ? fabs((double)a->values[i * a->dim[1] + k]) / whole : 0;
  return isfinite(part) ? (int)(255 * part + 0.5) : 0;
}

// The rows of pixels, each after the number of its filter, 0: none.
static void put_pixels(gr_text *out, const gr_table *a, int cell) {
  gr_text row = gr_text_make(out->arena);
  for (int64_t i = 0; i < a->dim[0]; i++) {
    row.len = 0;
    gr_text_putn(&row, "", 1);
    for (int64_t k = 0; k < a->dim[1]; k++) {
      char v = (char)shade(a, i, k);
      for (int c = 0; c < cell; c++) gr_text_putn(&row, &v, 1);
    }
    for (int c = 0; c < cell; c++) gr_text_putn(out, row.chars, row.len);
  }
}

// The zlib stream of stored blocks (RFC 1950, 1951).
static void store(gr_text *out, const gr_text *raw) {
  uint32_t a = 1, b = 0;
  gr_text_putn(out, "\x78\x01", 2);
  for (size_t offset = 0; offset < raw->len;) {
    size_t n = raw->len - offset < MAX_STORED ? raw->len - offset : MAX_STORED;
    char head[5] = {offset + n == raw->len, (char)n, (char)(n >> 8), (char)~n, (char)(~n >> 8)};
    gr_text_putn(out, head, 5);
    gr_text_putn(out, raw->chars + offset, n);
    offset += n;
  }
  for (size_t i = 0; i < raw->len; i++) {
    a = (a + (unsigned char)raw->chars[i]) % 65521;
    b = (b + a) % 65521;
  }
  put_big(out, b << 16 | a);
}

static void put_end(gr_text *t, gr_text *work, const gr_text *raw) {
  work->len = 0;
  store(work, raw);
  put_chunk(t, "IDAT", work);
  work->len = 0;
  put_chunk(t, "IEND", work);
}

void gr_png_put(gr_text *t, int64_t height, int64_t width, int channels,
                const unsigned char *pixels) {
  gr_text raw = gr_text_make(t->arena), work = gr_text_make(t->arena);
  size_t row = (size_t)width * (size_t)channels;
  for (int64_t i = 0; i < height; i++) {
    gr_text_putn(&raw, "", 1);
    gr_text_putn(&raw, (const char *)pixels + (size_t)i * row, row);
  }
  put_header(t, &work, height, width, channels == 1 ? GRAY : RGB);
  put_end(t, &work, &raw);
}

void gr_table_png(gr_text *t, const gr_table *a, int *side) {
  assert(gr_table_is_drawn(a));
  int n = (int)a->dim[0], cell = n < SIDE ? SIDE / n : 1;
  gr_text raw = gr_text_make(t->arena), work = gr_text_make(t->arena);
  *side = n * cell;
  put_header(t, &work, *side, *side, INDEX);
  put_palette(t, &work);
  put_pixels(&raw, a, cell);
  put_end(t, &work, &raw);
}
