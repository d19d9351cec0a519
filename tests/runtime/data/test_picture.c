// test_picture.c - reading image files of every kind, converting and scaling them; and files that
// are damaged.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "runtime/data/image/picture.h"
#include "tests/runtime/data/fixture.h"
#include "tests/runtime/data/png.h"
#ifdef GR_HAVE_JPEG
#include <jpeglib.h>
#endif
#ifdef GR_HAVE_ZLIB
#include <zlib.h>
#endif

static png file;

static void expect(const gr_picture *p, int64_t height, int64_t width, int channels,
                   const unsigned char *values) {
  CHECK(p->height == height && p->width == width && p->channels == channels,
        "[%lld, %lld, %d], not [%lld, %lld, %d]", (long long)p->height, (long long)p->width,
        p->channels, (long long)height, (long long)width, channels);
  for (int64_t i = 0; i < height * width * channels; i++)
    CHECK(p->pixels[i] == values[i], "value %lld is %d, not %d", (long long)i, p->pixels[i],
          values[i]);
}

static void decodes(const void *bytes, size_t n, int64_t height, int64_t width, int channels,
                    const char *values) {
  gr_picture p;
  MUST(gr_picture_decode("x.png", bytes, n, NULL, &p));
  expect(&p, height, width, channels, (const unsigned char *)values);
  free(p.pixels);
}

static void refuses(const void *bytes, size_t n, const char *part) {
  gr_picture p;
  fixture_fails(gr_picture_decode("dir/a.png", bytes, n, NULL, &p), GR_ERR_DATA, 0, part);
  gr_status s = gr_picture_decode("dir/a.png", bytes, n, NULL, &p);
  CHECK(strstr(gr_status_text(s), "'dir/a.png'"), "the file is named: %s", gr_status_text(s));
  CHECK(!p.pixels, "nothing is left");
  gr_status_drop(s);
}

// ---- PNG ----------------------------------------------------------------------------------------

#ifdef GR_HAVE_PNG
static void reads_png(void) {
  png_begin(&file, 3, 2, 8, 0);
  png_end(&file, "\x01\x02\x03\xfd\xfe\xff", 2, 3);
  decodes(file.data, file.n, 2, 3, 1, "\x01\x02\x03\xfd\xfe\xff");
  png_begin(&file, 2, 1, 8, 2);
  png_end(&file, "abcdef", 1, 6);
  decodes(file.data, file.n, 1, 2, 3, "abcdef");
  png_begin(&file, 1, 2, 8, 4);
  png_end(&file, "abcd", 2, 2);
  decodes(file.data, file.n, 2, 1, 2, "abcd");
  png_begin(&file, 1, 2, 8, 6);
  png_end(&file, "abcdefgh", 2, 4);
  decodes(file.data, file.n, 2, 1, 4, "abcdefgh");
}

// Fewer bits are spread over 0 to 255, 16 are cut, palettes looked up, also their alpha.
static void reads_depths(void) {
  png_begin(&file, 4, 1, 1, 0);
  png_end(&file, "\xa0", 1, 1);
  decodes(file.data, file.n, 1, 4, 1, "\xff\x00\xff\x00");
  png_begin(&file, 2, 1, 4, 0);
  png_end(&file, "\x1f", 1, 1);
  decodes(file.data, file.n, 1, 2, 1, "\x11\xff");
  png_begin(&file, 2, 1, 16, 0);
  png_end(&file, "\x00\xff\x80\x00", 1, 4);
  decodes(file.data, file.n, 1, 2, 1, "\x00\x80");
  png_begin(&file, 1, 1, 16, 4);
  png_end(&file, "\x12\xff\x80\x00", 1, 4);
  decodes(file.data, file.n, 1, 1, 2, "\x12\x80");
  png_begin(&file, 2, 1, 8, 3);
  png_chunk(&file, "PLTE", "abcdef", 6);
  png_end(&file, "\x01\x00", 1, 2);
  decodes(file.data, file.n, 1, 2, 3, "defabc");
  png_begin(&file, 2, 1, 8, 3);
  png_chunk(&file, "PLTE", "abcdef", 6);
  png_chunk(&file, "tRNS", "\x07", 1);
  png_end(&file, "\x01\x00", 1, 2);
  decodes(file.data, file.n, 1, 2, 4,
          "def\xff"
          "abc\x07");
}

#ifdef GR_HAVE_ZLIB
// No image is too empty for its size.
static void reads_blank_png(void) {
  enum { SIDE = 4096 };
  static unsigned char rows[(SIDE / 8 + 1) * SIDE], packed[1 << 12];
  uLongf n = sizeof packed;
  gr_picture p;
  CHECK(compress2(packed, &n, rows, sizeof rows, 9) == Z_OK, "packed");
  png_begin(&file, SIDE, SIDE, 1, 0);
  png_chunk(&file, "IDAT", packed, n);
  png_chunk(&file, "IEND", NULL, 0);
  MUST(gr_picture_decode("x.png", file.data, file.n, NULL, &p));
  CHECK(p.height == SIDE && p.width == SIDE && p.channels == 1 && !p.pixels[SIDE * SIDE - 1],
        "zeros");
  free(p.pixels);
}
#else
static void reads_blank_png(void) { SKIP("built without zlib"); }
#endif

static void bad_png(void) {
  png_begin(&file, 2, 1, 8, 2);
  png_end(&file, "abcdef", 1, 6);
  for (size_t n = 8; n + 16 < file.n; n++) refuses(file.data, n, "cannot be read");
  refuses(file.data, 40, "the file is cut short");
  file.data[29] ^= 1;  // the checksum of the header
  refuses(file.data, file.n, "CRC");
  png_begin(&file, 2, 1, 8, 2);
  png_end(&file, "abcdef", 1, 6);
  file.data[52] ^= 1;  // a pixel
  refuses(file.data, file.n, "IDAT");
  png_begin(&file, 60000, 60000, 8, 6);
  png_end(&file, "abcdef", 1, 6);
  refuses(file.data, file.n, "declares 60000 x 60000 pixels, and its 75 bytes cannot hold so many");
  gr_picture p;
  fixture_fails(gr_picture_alloc("a", 60000, 60000, 4, &p), GR_ERR_DATA, 0,
                "declares 60000 x 60000 pixels of 4 channels");
  png_begin(&file, 100000, 1, 8, 0);
  png_end(&file, "abcdef", 1, 6);
  refuses(file.data, file.n, "cannot be read");
  png_begin(&file, 0, 1, 8, 0);
  png_end(&file, "abcdef", 1, 6);
  refuses(file.data, file.n, "cannot be read");
}
#else
static void reads_png(void) {
  png_begin(&file, 1, 1, 8, 0);
  png_end(&file, "a", 1, 1);
  refuses(file.data, file.n, "a PNG image, which this build does not read");
}
static void reads_depths(void) { SKIP("built without libpng"); }
static void reads_blank_png(void) { SKIP("built without libpng"); }
static void bad_png(void) { SKIP("built without libpng"); }
#endif

// ---- JPEG ---------------------------------------------------------------------------------------

#ifdef GR_HAVE_JPEG
// A smooth image: its values change little when they are compressed.
static unsigned char smooth(int h, int w, int c) {
  return (unsigned char)(128 + 100 * sin(0.04 * (h + 2 * w) + c));
}

enum { SIDE = 40 };

// Of one colour, in as few bytes as there can be.
static unsigned char *encode_blank(int side, bool progressive, unsigned long *n) {
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  unsigned char *out = NULL, *row = calloc((size_t)side, 1);
  JSAMPROW rows[] = {row};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &out, n);
  jpeg.image_width = jpeg.image_height = (unsigned)side;
  jpeg.input_components = 1, jpeg.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg.optimize_coding = TRUE;
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (int i = 0; i < side; i++) jpeg_write_scanlines(&jpeg, rows, 1);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  free(row);
  return out;
}

// No image is too empty for its size.
static void reads_blank_jpeg(void) {
  for (int progressive = 0; progressive < 2; progressive++) {
    unsigned long n = 0;
    gr_picture p;
    unsigned char *bytes = encode_blank(2048, progressive, &n);
    CHECK(n < 40000, "%lu bytes", n);
    MUST(gr_picture_decode("x.jpg", bytes, n, NULL, &p));
    free(p.pixels), free(bytes);
  }
}

static unsigned char *encode(J_COLOR_SPACE space, int channels, bool progressive,
                             unsigned long *n) {
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  unsigned char *out = NULL, row[SIDE * 4];
  JSAMPROW rows[] = {row};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &out, n);
  jpeg.image_width = jpeg.image_height = SIDE;
  jpeg.input_components = channels, jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (int i = 0; i < SIDE; i++) {
    for (int k = 0; k < SIDE * channels; k++) row[k] = smooth(i, k / channels, k % channels);
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return out;
}

static void reads_jpeg(void) {
  for (int k = 0; k < 4; k++) {
    unsigned long n = 0;
    gr_picture p;
    int channels = k % 2 ? 3 : 1;
    unsigned char *bytes = encode(k % 2 ? JCS_RGB : JCS_GRAYSCALE, channels, k > 1, &n);
    MUST(gr_picture_decode("x.jpg", bytes, n, NULL, &p));
    CHECK(p.height == SIDE && p.width == SIDE && p.channels == channels, "its size");
    for (int i = 0; i < SIDE * SIDE * channels; i++) {
      int pixel = i / channels, want = smooth(pixel / SIDE, pixel % SIDE, i % channels);
      CHECK(abs(p.pixels[i] - want) < 12, "value %d of kind %d is %d, not %d", i, k, p.pixels[i],
            want);
    }
    free(p.pixels);
    free(bytes);
  }
}

// SIDE pixels at 1, 1/2, 1/4 and 1/8 for what is computed from them: at least twice as many as
// that.
static void scales_jpeg(void) {
  static const struct {
    gr_picture_use use;
    int by;
  } cases[] = {{{0, 0}, 1}, {{10, 10}, 2}, {{11, 10}, 1}, {{10, 11}, 1}, {{6, 5}, 2},
               {{5, 5}, 4}, {{2, 3}, 4},   {{2, 2}, 8},   {{1, 1}, 8},   {{1, 40}, 1}};
  unsigned long n = 0;
  unsigned char *bytes = encode(JCS_RGB, 3, false, &n);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    gr_picture p;
    int by = cases[k].by, side = SIDE / by;
    MUST(gr_picture_decode("x.jpg", bytes, n, &cases[k].use, &p));
    CHECK(p.height == side && p.width == side && p.channels == 3, "case %d: %d", (int)k,
          (int)p.height);
    for (int i = 0; i < side * side * 3; i++) {
      int pixel = i / 3, offset = (by - 1) / 2;
      int want = smooth(pixel / side * by + offset, pixel % side * by + offset, i % 3);
      CHECK(abs(p.pixels[i] - want) < 12 + 6 * by, "case %d, value %d: %d, not %d", (int)k, i,
            p.pixels[i], want);
    }
    free(p.pixels);
  }
  free(bytes);
}

static void bad_jpeg(void) {
  unsigned long n = 0;
  unsigned char *bytes = encode(JCS_RGB, 3, false, &n);
  for (unsigned long cut = 3; cut + 8 < n; cut += 29) refuses(bytes, cut, "cannot be read");
  refuses(bytes, n / 2, "Premature end of JPEG");
  bytes[n / 2] = 0xff, bytes[n / 2 + 1] = 0xd9;  // an end in the middle
  refuses(bytes, n, "cannot be read");
  free(bytes), bytes = NULL;
  bytes = encode(JCS_GRAYSCALE, 1, false, &n);
  for (unsigned long i = 2; i + 9 < n; i++)  // the frame's header: height and width
    if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) memset(bytes + i + 5, 0xfe, 4);
  refuses(bytes, n, "declares 65278 x 65278 pixels, and its");
  free(bytes);
}
#else
static void scales_jpeg(void) { SKIP("built without libjpeg-turbo"); }
static void reads_blank_jpeg(void) { SKIP("built without libjpeg-turbo"); }
static void reads_jpeg(void) {
  refuses("\xff\xd8\xff\xe0", 4, "a JPEG image, which this build does not read");
}
static void bad_jpeg(void) { SKIP("built without libjpeg-turbo"); }
#endif

// ---- Others -------------------------------------------------------------------------------------

static void reads_others(void) {
  static const char ppm[] = "P6 # c\n# x\n2\t1\r255\nabcdef", pgm[] = "P5\n1 2\n255\nab";
  static const char npy[] =
      "\x93NUMPY\x01\x00\x3b\x00{'descr': '|u1', 'fortran_order': False, 'shape': "
      "(2, 2), }\n123456";
  decodes(ppm, sizeof ppm - 1, 1, 2, 3, "abcdef");
  decodes(pgm, sizeof pgm - 1, 2, 1, 1, "ab");
  refuses(ppm, sizeof ppm - 2, "declares 6 bytes of pixels and has 5");
  refuses("P5\n1 2\n65535\nabcd", 16, "no head of width, height and 255");
  refuses("P6 1 2", 6, "no head of width, height and 255");
  refuses("P5\n-1 2\n255\nabcd", 14, "no head");
  refuses("P5\n99999999999 2\n255\nabcd", 24, "no head");
  refuses("P5\n70000 2\n255\nabcd", 18, "declares 70000 x 2 pixels");
  refuses("GIF89a", 6, "is no image that is read");
  refuses("", 0, "is an empty file");
  refuses(npy, 12, "is no array of NumPy");
}

static void reads_arrays(void) {
  unsigned char all[256] = "\x93NUMPY\x01";
  gr_picture p;
  int n = snprintf((char *)all + 10, 200,
                   "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 3)}");
  all[8] = (unsigned char)n;
  memcpy(all + 10 + n, "abcdef", 6);
  decodes(all, (size_t)n + 16, 2, 1, 3, "abcdef");
  refuses(all, (size_t)n + 15, "cut short");
  all[22] = 'i';
  refuses(all, (size_t)n + 16, "is of i8 with 3 dimensions");
  fixture_fails(gr_picture_read("absent.png", NULL, &p), GR_ERR_DATA, 0, "absent.png");
  fixture_fails(gr_picture_read("/", NULL, &p), GR_ERR_DATA, 0, "a folder");
}

// ---- Conversion and scaling ---------------------------------------------------------------------

static void converts_one(const char *source, int channels, const char *to, int wanted) {
  gr_picture p;
  MUST(gr_picture_alloc("x", 1, 2, channels, &p));
  memcpy(p.pixels, source, 2 * (size_t)channels);
  MUST(gr_picture_convert("x", &p, wanted));
  expect(&p, 1, 2, wanted, (const unsigned char *)to);
  free(p.pixels);
}

static void converts(void) {
  converts_one("ab", 1, "aaabbb", 3);
  converts_one("ab", 1,
               "aaa\xff"
               "bbb\xff",
               4);
  // 0.299 r + 0.587 g + 0.114 b
  converts_one("\x64\xc8\x32\xff\x00\x00", 3, "\x99\x4c", 1);
  converts_one("\x64\xff\x32\x80", 2, "\x64\x32", 1);  // alpha is dropped
  converts_one("\x64\xc8\x32\x80\xff\xff\xff\x00", 4, "\x64\xc8\x32\xff\xff\xff", 3);
  converts_one("\x64\xc8\x32\x80\xff\xff\xff\x00", 4, "\x99\xff", 1);
  converts_one("ab\x63\x64", 2, "aaabccc\x64", 4);
}

static gr_picture pattern(int height, int width, int channels) {
  gr_picture p;
  MUST(gr_picture_alloc("x", height, width, channels, &p));
  for (int i = 0; i < height; i++)
    for (int k = 0; k < width; k++)
      for (int c = 0; c < channels; c++)
        p.pixels[(i * width + k) * channels + c] =
            (unsigned char)((i * 37 + k * 11 + c * 101 + i * k * 7) % 256);
  return p;
}

// PyTorch's values, which are not rounded between the two directions.
static void scales(void) {
  static unsigned char out[4096];
  FILE *f = fopen(GR_GOLDEN "/resize.txt", "r");
  int h, w, c, height, width, cases = 0;
  CHECK(f, "cannot open %s", GR_GOLDEN "/resize.txt");
  CHECK(fscanf(f, "%*[^\n]") == 0, "the first line");
  for (; fscanf(f, "%d %d %d %d %d", &h, &w, &c, &height, &width) == 5; cases++) {
    gr_picture p = pattern(h, w, c);
    MUST(gr_picture_fit(&p, GR_PICTURE_STRETCH, height, width, out));
    for (int i = 0; i < height * width * c; i++) {
      double want = 0;
      CHECK(fscanf(f, "%lf", &want) == 1, "a value");
      CHECK(fabs(out[i] - want) < 1.01, "[%d, %d, %d] to [%d, %d]: value %d is %d, not %g", h, w, c,
            height, width, i, out[i], want);
    }
    free(p.pixels);
  }
  CHECK(cases == 9, "%d cases", cases);
  fclose(f);
}

static void fits_one(gr_picture_resize how, int64_t height, int64_t width, const char *want) {
  unsigned char out[64];
  gr_picture p = {3, 4, 1, (unsigned char[12 + GR_PICTURE_SPARE]){"abcdefghijkl"}};
  MUST(gr_picture_fit(&p, how, height, width, out));
  CHECK(!memcmp(out, want, (size_t)(height * width)), "[%lld, %lld] is %.*s, not %s",
        (long long)height, (long long)width, (int)(height * width), (char *)out, want);
}

static void fits(void) {
  fits_one(GR_PICTURE_STRETCH, 3, 4, "abcdefghijkl");
  fits_one(GR_PICTURE_CROP, 1, 2, "fg");
  fits_one(GR_PICTURE_CROP, 3, 2, "bcfgjk");
  fits_one(GR_PICTURE_CROP, 5, 2, "\0\0bcfgjk\0\0");
  fits_one(GR_PICTURE_CROP, 1, 7, "\0efgh\0\0");
  // Columns 0.5 to 3.5: between each two, rounded up; and the mean, as weights are symmetric.
  fits_one(GR_PICTURE_COVER, 3, 3, "bcdfghjkl");
  fits_one(GR_PICTURE_COVER, 1, 1, "g");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_png", reads_png}, {"reads_depths", reads_depths},
             {"reads_blank_png", reads_blank_png}, {"bad_png", bad_png}, {"reads_jpeg", reads_jpeg},
             {"reads_blank_jpeg", reads_blank_jpeg}, {"scales_jpeg", scales_jpeg},
             {"bad_jpeg", bad_jpeg}, {"reads_others", reads_others}, {"reads_arrays", reads_arrays},
             {"converts", converts}, {"scales", scales}, {"fits", fits});
}
