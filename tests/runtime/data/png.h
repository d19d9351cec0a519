// png.h - writes PNG for tests, without a library: pixels are stored, not deflated.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct png {
  unsigned char data[1 << 16];
  size_t n;
} png;

// Appends bytes.
static inline void png_put(png *p, const void *bytes, size_t n) {
  if (n) memcpy(p->data + p->n, bytes, n);
  p->n += n;
}
// Appends a number, the highest byte first.
static inline void png_u32(png *p, uint32_t v) {
  png_put(p,
          (unsigned char[]){(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                            (unsigned char)(v >> 8), (unsigned char)v},
          4);
}
// The CRC-32 of ISO 3309, as PNG has it (RFC 2083, 15).
static inline uint32_t png_crc(const unsigned char *data, size_t n) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < n; i++) {
    crc ^= data[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
  }
  return ~crc;
}
// Appends a chunk: its length, type, bytes and checksum.
static inline void png_chunk(png *p, const char *type, const void *bytes, size_t n) {
  png_u32(p, (uint32_t)n);
  size_t first = p->n;
  png_put(p, type, 4);
  png_put(p, bytes, n);
  png_u32(p, png_crc(p->data + first, p->n - first));
}
// Starts a picture, of that color type; png_end completes it.
static inline void png_begin(png *p, uint32_t width, uint32_t height, int depth, int color) {
  unsigned char head[13] = {0};
  for (int i = 0; i < 4; i++) {
    head[i] = (unsigned char)(width >> (24 - 8 * i));
    head[4 + i] = (unsigned char)(height >> (24 - 8 * i));
  }
  head[8] = (unsigned char)depth, head[9] = (unsigned char)color;
  p->n = 0;
  png_put(p, "\x89PNG\r\n\x1a\n", 8);
  png_chunk(p, "IHDR", head, 13);
}
// The rows, each after a byte 0, in one stored block of zlib's format.
static inline void png_end(png *p, const void *values, uint32_t height, size_t row) {
  static png z;
  uint32_t a = 1, b = 0;
  size_t n = (row + 1) * height;
  z.n = 0;
  png_put(&z, "\x78\x01\x01", 3);
  png_put(&z,
          (unsigned char[]){(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)~n,
                            (unsigned char)(~n >> 8)},
          4);
  for (uint32_t i = 0; i < height; i++) {
    png_put(&z, "", 1);
    png_put(&z, (const char *)values + i * row, row);
  }
  for (size_t i = 7; i < z.n; i++) a = (a + z.data[i]) % 65521, b = (b + a) % 65521;
  png_u32(&z, b << 16 | a);
  png_chunk(p, "IDAT", z.data, z.n);
  png_chunk(p, "IEND", "", 0);
}
