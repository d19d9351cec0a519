// test_table.c - tables of a report: JSON, text, SVG, and a PNG file whose chunks, checksums and
// pixels are read back here.
#include <stdlib.h>
#include <string.h>
#include "runtime/report/table.h"
#include "tests/check.h"

static gr_arena *arena;

static gr_table matrix(int64_t rows, int64_t columns, float *data) {
  return (gr_table){.name = "counts", .rank = 2, .dim = {rows, columns}, .values = data};
}

static void json(void) {
  float v[] = {3, 0.5f, 0, 16777216, -2, 1e-7f};
  gr_table t = matrix(2, 3, v), one = {.name = "x", .values = v};
  gr_text out = gr_text_make(arena);
  gr_table_json(&out, &t);
  gr_text_put(&out, " ");
  gr_table_json(&out, &one);
  CHECK(!strcmp(out.chars, "[[3, 0.5, 0], [16777216, -2, 1.0000000116860974e-07]] 3"), "%s",
        out.chars);
}

static void names(void) {
  float v[] = {5, 0, 0.25f, 1};
  gr_table t = matrix(2, 2, v);
  const char *classes[] = {"a<b", "c"};
  gr_tables all = {&t, 1, classes, 2};
  gr_text text = gr_text_make(arena), svg = gr_text_make(arena);
  gr_table_text(&text, &t, &all);
  CHECK(!strcmp(text.chars, "counts:\n  a<b         5         0\n  c      0.2500         1\n"),
        "%s", text.chars);
  gr_table_svg(&svg, &t, &all);
  CHECK(strstr(svg.chars, ">a&#60;b</text>") && strstr(svg.chars, ">0.25</text>"), "%s", svg.chars);
  CHECK(!strstr(svg.chars, "a<b") && !strncmp(svg.chars, "<svg ", 5), "%s", svg.chars);
}

static void drawn(void) {
  float v[6] = {0};
  gr_table t = matrix(2, 3, v), one = matrix(1, 1, v), large = matrix(513, 513, NULL);
  CHECK(!gr_table_is_drawn(&t) && !gr_table_is_drawn(&one) && !gr_table_is_drawn(&large),
        "what is drawn");
}

// A cell is as dark as its part of its row: of the true class.
static void colours(void) {
  float v[4] = {3, 1, 0, 2};
  gr_table t = matrix(2, 2, v);
  gr_text out = gr_text_make(arena);
  gr_table_svg(&out, &t, &(gr_tables){0});
  static const char *const fills[] = {"opacity=\"0.750\"", "opacity=\"0.250\"", "opacity=\"0.000\"",
                                      "opacity=\"1.000\""};
  const char *cursor = out.chars;
  for (int i = 0; i < 4; i++) {
    const char *next = strstr(cursor, fills[i]);
    CHECK(next, "cell %d is not %s, or not behind the one before", i, fills[i]);
    cursor = next ? next : cursor;
  }
}

// ---- PNG ----------------------------------------------------------------------------------------

static uint32_t big(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// By polynomial division of the reflected bits, one at a time.
static uint32_t crc_of(const unsigned char *p, size_t n) {
  uint32_t rest = 0xffffffff;
  for (size_t i = 0; i < 8 * n; i++) {
    uint32_t bit = (uint32_t)p[i / 8] >> (i % 8) & 1;
    rest = (rest ^ bit) & 1 ? rest >> 1 ^ 0xedb88320 : rest >> 1;
  }
  return ~rest;
}

// The chunk of that type, after its checksum is verified.
static const unsigned char *chunk(const gr_text *png, const char *type, size_t *len) {
  const unsigned char *p = (const unsigned char *)png->chars + 8, *end = p + png->len - 8;
  while (p < end) {
    size_t n = big(p);
    CHECK(crc_of(p + 4, n + 4) == big(p + 8 + n), "the checksum of %.4s", (const char *)p + 4);
    *len = n;
    if (!memcmp(p + 4, type, 4)) return p + 8;
    p += n + 12;
  }
  CHECK(false, "there is no chunk %s", type);
  check_leave();
}

// The bytes of stored blocks, whose checksum is verified.
static unsigned char *stored(const unsigned char *p, size_t len, size_t *out_n) {
  unsigned char *out = GR_NEW(arena, unsigned char, len);
  size_t n = 0, offset = 2;
  CHECK((p[0] * 256 + p[1]) % 31 == 0 && (p[0] & 15) == 8, "the head of zlib");
  for (bool last = false; !last;) {
    last = p[offset] & 1;
    size_t size = p[offset + 1] | (size_t)p[offset + 2] << 8;
    CHECK(!(p[offset] & 6) && (p[offset + 3] | (size_t)p[offset + 4] << 8) == (size ^ 0xffff),
          "a block");
    memcpy(out + n, p + offset + 5, size);
    n += size, offset += 5 + size;
  }
  uint64_t a = 1, b = 0;
  for (size_t i = 0; i < n; i++) a += out[i], b += a;
  CHECK(big(p + offset) == (b % 65521 << 16 | a % 65521) && offset + 4 == len, "the sum of zlib");
  *out_n = n;
  return out;
}

static void png(int64_t k) {
  float *v = GR_NEW(arena, float, k *k);
  for (int64_t i = 0; i < k * k; i++) v[i] = i / k == i % k ? 3.0f : i % k == 0 ? 1.0f : 0.0f;
  gr_table t = matrix(k, k, v);
  gr_text out = gr_text_make(arena);
  int side;
  size_t len, n;
  CHECK(gr_table_is_drawn(&t), "%d rows", (int)k);
  gr_table_png(&out, &t, &side);
  CHECK(!memcmp(out.chars, "\x89PNG\r\n\x1a\n", 8), "the signature");
  const unsigned char *head = chunk(&out, "IHDR", &len);
  CHECK(len == 13 && big(head) == (uint32_t)side && big(head + 4) == (uint32_t)side &&
            side % (int)k == 0 && side >= k && !memcmp(head + 8, "\x08\x03\0\0\0", 5),
        "%d pixels", side);
  chunk(&out, "PLTE", &len);
  CHECK(len == 768, "%zu bytes of colours", len);
  chunk(&out, "IEND", &n);
  const unsigned char *data = chunk(&out, "IDAT", &len), *raw = stored(data, len, &n);
  CHECK(n == (size_t)side * (size_t)(side + 1), "%zu bytes of pixels", n);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < k; j++) {
      size_t cell = (size_t)side / (size_t)k;
      size_t offset = (size_t)i * cell * (size_t)(side + 1) + 1 + (size_t)j * cell + cell / 2;
      int want = i == j ? (i ? 191 : 255) : j == 0 ? 64 : 0;
      CHECK(raw[offset] == want, "row %d, column %d: %d, not %d", (int)i, (int)j, raw[offset],
            want);
    }
}

static void small_png(void) { png(3); }
static void large_png(void) { png(512); }  // five stored blocks

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"json", json}, {"names", names}, {"drawn", drawn},
                   {"colours", colours}, {"small_png", small_png}, {"large_png", large_png});
  gr_arena_destroy(arena);
  return failed;
}
