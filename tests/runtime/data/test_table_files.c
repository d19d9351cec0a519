// test_table_files.c - the readers of .npy and .npz: what they give, and what they refuse.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <unistd.h>
#ifdef GR_HAVE_ZLIB
#include <zlib.h>
#endif
#include "runtime/data/npy.h"
#include "runtime/data/table/npz.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;  // of what is parsed

typedef struct bytes {
  unsigned char data[4096];
  size_t n;
} bytes;

static void put(bytes *b, const void *source, size_t n) {
  memcpy(b->data + b->n, source, n);
  b->n += n;
}
static void put_number(bytes *b, uint64_t v, int n) {
  for (int i = 0; i < n; i++) b->data[b->n++] = (unsigned char)(v >> 8 * i);
}

// ---- .npy ---------------------------------------------------------------------------------------

static bytes npy(int version, const char *header, const void *values, size_t n) {
  bytes b = {.n = 0};
  put(&b, "\x93NUMPY", 6);
  put_number(&b, (uint64_t)version, 2);
  put_number(&b, strlen(header), version == 1 ? 2 : 4);
  put(&b, header, strlen(header));
  put(&b, values, n);
  return b;
}

static bytes npy_of(const char *descr, const char *shape, const void *values, size_t n) {
  char header[256];
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }      \n",
           descr, shape);
  return npy(1, header, values, n);
}

static gr_status parse(const bytes *b, gr_array *out) {
  return gr_npy_parse(arena, "a.npz", "x", b->data, b->n, out);
}

static void reads_every_type(void) {
  static const struct {
    const char *descr, *type;
    unsigned char of[8];  // a value, and another
    double want, other;
  } cases[] = {
      {"|b1", "bool", {1, 0}, 1, 0},
      {"|u1", "u8", {255, 3}, 255, 3},
      {"|i1", "i8", {255, 3}, -1, 3},
      {"<u2", "u16", {0xff, 0xff, 2, 1}, 65535, 258},
      {"<i2", "i16", {0xfe, 0xff, 2, 1}, -2, 258},
      {"<f2", "f16", {0x00, 0x3e, 0x01, 0x80}, 1.5, -0x1p-24},
      {"<i4", "i32", {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80}, -1, -2147483648.0},
      {"<u4", "u32", {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80}, 4294967295.0, 2147483648.0},
      {"<f4", "f32", {0, 0, 0xc0, 0xbf, 0, 0, 0x80, 0x3f}, -1.5, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t size = (size_t)(cases[i].descr[2] - '0');
    bytes b = npy_of(cases[i].descr, "(2,)", cases[i].of, 2 * size);
    gr_array a;
    MUST(parse(&b, &a));
    CHECK(a.rank == 1 && a.dim[0] == 2 && a.count == 2, "%s", cases[i].descr);
    CHECK(!strcmp(gr_array_type(&a), cases[i].type), "%s", gr_array_type(&a));
    float f[2];
    gr_array_floats(&a, 0, 2, f);
    CHECK(gr_array_number(&a, 0) == cases[i].want, "%s: %g", a.name, gr_array_number(&a, 0));
    CHECK(gr_array_number(&a, 1) == cases[i].other, "%s: %g", a.name, gr_array_number(&a, 1));
    CHECK(f[0] == (float)cases[i].want && f[1] == (float)cases[i].other, "%s", cases[i].descr);
  }
}

static void reads_eight_bytes(void) {
  static const double floats[] = {0.1, 2.5, 1e300};
  static const int64_t ints[] = {INT64_MIN, -5, INT64_MAX};
  bytes b = npy_of("<f8", "(3,)", floats, sizeof floats),
        c = npy_of("<i8", "(3, 1)", ints, sizeof ints);
  gr_array a;
  int64_t v;
  int32_t small[3];
  MUST(parse(&b, &a));
  CHECK(gr_array_number(&a, 0) == 0.1, "0.1");
  CHECK(!gr_array_integer(&a, 1, &v), "2.5 is not whole");
  CHECK(gr_array_ints(&a, 0, 3, 4, small) == 0, "0.1 is not whole");
  MUST(parse(&c, &a));
  CHECK(a.rank == 2 && a.dim[0] == 3 && a.dim[1] == 1, "shape");
  CHECK(gr_array_integer(&a, 0, &v) && v == INT64_MIN, "%lld", (long long)v);
  CHECK(gr_array_ints(&a, 1, 1, 4, small) == -1 && small[0] == -5, "%d", small[0]);
  CHECK(gr_array_ints(&a, 1, 2, 4, small) == 2, "too large for 32 bits");
}

static void reads_text(void) {
  static const uint32_t codes[] = {'a', 0xe9, 0, 'b', 0, 0};
  gr_arena *work = gr_arena_create();
  gr_array a;
  bytes b = npy_of("<U3", "(2,)", codes, sizeof codes);
  MUST(parse(&b, &a));
  CHECK(gr_array_is_text(&a) && !strcmp(gr_array_text(work, &a, 0), "a\xc3\xa9"), "UTF-8");
  CHECK(!strcmp(gr_array_text(work, &a, 1), "b"), "%s", gr_array_text(work, &a, 1));
  b = npy_of("|S3", "(2,)", "abcd\0\0", 6);
  MUST(parse(&b, &a));
  CHECK(!strcmp(gr_array_text(work, &a, 0), "abc"), "%s", gr_array_text(work, &a, 0));
  CHECK(!strcmp(gr_array_text(work, &a, 1), "d"), "%s", gr_array_text(work, &a, 1));
  gr_arena_destroy(work);
}

static void reads_every_version(void) {
  static const char header[] = "{\"shape\": (), 'fortran_order': True, 'descr': '<i4'}";
  for (int version = 1; version <= 3; version++) {
    bytes b = npy(version, header, "\x07\0\0", 4);
    gr_array a;
    MUST(parse(&b, &a));
    CHECK(!a.rank && a.count == 1 && gr_array_number(&a, 0) == 7, "version %d", version);
  }
  bytes b = npy(4, header, "\x07\0\0", 4);
  gr_array a;
  fixture_fails(parse(&b, &a), GR_ERR_DATA, 0, "the version is not 1, 2 or 3");
}

// Of any type, order and shape: as if the values were rows first and little-endian.
static void reads_any_order(void) {
  enum { N = 24, SIZE = 4 };
  static const char *const descrs[] = {"<u4", ">u4", ">f4", ">u2", "|S4", ">U1"};
  static const char *const shapes[] = {"(24,)", "(4, 6)", "(2, 3, 4)", "(24, 1)"};
  static const int dims[][3] = {{24, 1, 1}, {4, 6, 1}, {2, 3, 4}, {24, 1, 1}};
  for (int c = 0; c < 6 * 4 * 2; c++) {
    const char *descr = descrs[c % 6];
    const int *d = dims[c / 6 % 4];
    bool fortran = c / 24, big = *descr == '>', text = strchr("SU", descr[1]) != NULL;
    size_t size = descr[1] == 'U' ? 4 : (size_t)(descr[2] - '0');
    unsigned char values[N * SIZE];
    for (int i = 0; i < N; i++) {
      // Element i is at (x, y, z).
      int z = i % d[2], y = i / d[2] % d[1], x = i / d[2] / d[1];
      int offset = fortran ? x + d[0] * (y + d[1] * z) : i;
      float f = (float)(i + 300);
      uint32_t v =
          descr[1] == 'S' ? 0x64636261u + (uint32_t)i : (uint32_t)(text ? 'A' + i : i + 300);
      if (descr[1] == 'f') memcpy(&v, &f, sizeof v);
      for (size_t b = 0; b < size; b++)
        values[(size_t)offset * size + b] = (unsigned char)(v >> 8 * (big ? size - 1 - b : b));
    }
    char header[128];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s}", descr,
             fortran ? "True" : "False", shapes[c / 6 % 4]);
    bytes b = npy(1, header, values, N * size);
    gr_array a;
    MUST(parse(&b, &a));
    for (int i = 0; i < N; i++) {
      const char want[] = {(char)((descr[1] == 'S' ? 'a' : 'A') + i), descr[1] == 'S' ? 'b' : 0,
                           'c', 'd', 0};
      if (text)
        CHECK(!strcmp(gr_array_text(arena, &a, i), want), "%s: element %d is '%s', not '%s'",
              header, i, gr_array_text(arena, &a, i), want);
      else
        CHECK(gr_array_number(&a, i) == i + 300, "%s: element %d is %g", header, i,
              gr_array_number(&a, i));
    }
  }
}

static void refuses_bad_arrays(void) {
  static const struct {
    const char *header, *message;
  } cases[] = {
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "'<c8', which is not read"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "'|O', which is not read"},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", "which is not read"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "array of records"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "is cut short"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "4 bytes after its last value"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "cut short"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "a size of"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "a size of the shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,2)}", "6 dimensions"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "True or False"},
      {"{'descr': '<f4', 'shape': (2,)}", "the header lacks"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "nothing should follow"},
      {"{'descr': '<f4", "array of records"},
      {"", "a '{' should begin"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bytes b = npy(1, cases[i].header, "\0\0\x80\x3f\0\0\x80\x3f", 8);
    gr_array a;

    fixture_fails(parse(&b, &a), GR_ERR_DATA, 0, cases[i].message);
  }
}

// ---- .npz ---------------------------------------------------------------------------------------

typedef struct zip {
  bytes all, directory;
  int n;
} zip;

static uint32_t crc_of(const unsigned char *p, size_t n) {
#ifdef GR_HAVE_ZLIB
  return (uint32_t)crc32(crc32(0, NULL, 0), p, (uInt)n);
#else
  return (void)p, (void)n, 0;
#endif
}

static bytes deflated(const bytes *b) {
  bytes out = {.n = 0};
#ifdef GR_HAVE_ZLIB
  z_stream s = {
      .next_in = (Bytef *)(uintptr_t)b->data, .avail_in = (uInt)b->n, .next_out = out.data};
  s.avail_out = sizeof out.data;
  CHECK(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  CHECK(deflate(&s, Z_FINISH) == Z_STREAM_END, "zlib");
  out.n = s.total_out;
  deflateEnd(&s);
#else
  (void)b;
#endif
  return out;
}

// wide: sizes and places in the extra field of ZIP64.
static void add(zip *z, const char *name, const bytes *b, bool pack, bool wide) {
  bytes packed = pack ? deflated(b) : *b, *d = &z->directory;
  uint64_t offset = z->all.n, size = wide ? UINT32_MAX : b->n,
           stored = wide ? UINT32_MAX : packed.n;
  uint32_t crc = crc_of(b->data, b->n);
  put_number(&z->all, 0x04034b50, 4), put_number(&z->all, 20, 2), put_number(&z->all, 0, 2);
  put_number(&z->all, pack ? 8 : 0, 2), put_number(&z->all, 0, 4), put_number(&z->all, crc, 4);
  put_number(&z->all, stored, 4), put_number(&z->all, size, 4);
  put_number(&z->all, strlen(name), 2), put_number(&z->all, 0, 2);
  put(&z->all, name, strlen(name)), put(&z->all, packed.data, packed.n);
  put_number(d, 0x02014b50, 4), put_number(d, 45, 2), put_number(d, 20, 2), put_number(d, 0, 2);
  put_number(d, pack ? 8 : 0, 2), put_number(d, 0, 4), put_number(d, crc, 4);
  put_number(d, stored, 4), put_number(d, size, 4), put_number(d, strlen(name), 2);
  put_number(d, wide ? 33 : 0, 2), put_number(d, 0, 8), put_number(d, 0, 2);
  put_number(d, wide ? UINT32_MAX : offset, 4), put(d, name, strlen(name));
  if (wide) put_number(d, 0x7777, 2), put_number(d, 1, 2), put_number(d, 9, 1);
  if (wide) put_number(d, 1, 2), put_number(d, 24, 2), put_number(d, b->n, 8);
  if (wide) put_number(d, packed.n, 8), put_number(d, offset, 8);
  z->n++;
}

static const char *finish(zip *z, bool wide) {
  uint64_t begin = z->all.n, n = z->directory.n, end;
  put(&z->all, z->directory.data, n);
  end = z->all.n;
  if (wide) {
    put_number(&z->all, 0x06064b50, 4), put_number(&z->all, 44, 8), put_number(&z->all, 45, 4);
    put_number(&z->all, 0, 8), put_number(&z->all, (uint64_t)z->n, 8);
    put_number(&z->all, (uint64_t)z->n, 8), put_number(&z->all, n, 8);
    put_number(&z->all, begin, 8);
    put_number(&z->all, 0x07064b50, 4), put_number(&z->all, 0, 4), put_number(&z->all, end, 8);
    put_number(&z->all, 1, 4);
  }
  put_number(&z->all, 0x06054b50, 4), put_number(&z->all, 0, 4);
  put_number(&z->all, wide ? 65535 : (uint64_t)z->n, 2),
      put_number(&z->all, wide ? 65535 : (uint64_t)z->n, 2);
  put_number(&z->all, wide ? UINT32_MAX : n, 4), put_number(&z->all, wide ? UINT32_MAX : begin, 4);
  put_number(&z->all, 0, 2);
  const char *path = fixture_path("a.npz");
  fixture_bytes(path, z->all.data, z->all.n);
  return path;
}

static zip two_arrays(bool pack, bool wide) {
  static const float x[] = {1, 2, 3, 4, 5, 6};
  zip z = {.n = 0};
  bytes b = npy_of("<f4", "(3, 2)", x, sizeof x), c = npy_of("|u1", "(3,)", "\0\1\2", 3);
  add(&z, "x.npy", &b, pack, wide), add(&z, "labels.npy", &c, false, wide);
  add(&z, "readme.txt", &c, false, false);
  return z;
}

static void check_arrays(const char *path) {
  gr_arena *work = gr_arena_create();
  gr_npz z;
  gr_array x, y;
  MUST(gr_npz_open(work, path, &z));
  CHECK(z.n == 2, "%d arrays", z.n);
  MUST(gr_npz_read(&z, "x", &x));
  MUST(gr_npz_read(&z, "labels", &y));
  CHECK(x.rank == 2 && x.dim[0] == 3 && gr_array_number(&x, 5) == 6, "x");
  CHECK(y.count == 3 && gr_array_number(&y, 2) == 2, "labels");
  fixture_fails(gr_npz_read(&z, "label", &y), GR_ERR_DATA, 0, "has no array 'label'");
  gr_npz_close(&z);
  gr_npz_close(&z);
  gr_arena_destroy(work);
}

static void reads_stored_and_wide_archives(void) {
  for (int wide = 0; wide < 2; wide++) {
    zip z = two_arrays(false, wide);
    check_arrays(finish(&z, wide));
    z.all.data[z.all.n - 2] = 9;  // behind the end is a comment
    put(&z.all, "a comment", 9);
    fixture_bytes(fixture_path("a.npz"), z.all.data, z.all.n);
    check_arrays(fixture_path("a.npz"));
  }
}

static void reads_deflated_archives(void) {
#ifndef GR_HAVE_ZLIB
  SKIP("built without zlib");
#endif
  zip z = two_arrays(true, false);
  check_arrays(finish(&z, false));
}

// All that can be read of an archive, where something of it is wrong: no more than an error.
static bool reads_all(const char *path) {
  gr_arena *work = gr_arena_create();
  gr_npz z;
  gr_array a;
  gr_status s = gr_npz_open(work, path, &z);
  bool ok = !s;
  for (int i = 0; !s && i < z.n; i++) {
    gr_status t = gr_npz_read(&z, z.members[i].name, &a);
    for (int64_t k = 0; !t && k < a.count; k++)
      if (!gr_array_is_text(&a)) ok &= !isnan(gr_array_number(&a, k));
    ok &= !t;
    gr_status_drop(t);
  }
  if (!s) gr_npz_close(&z);
  gr_status_drop(s);
  gr_arena_destroy(work);
  return ok;
}

// Cut short anywhere, and with any byte another.
static void survives_damage(void) {
  bool pack = false;
#ifdef GR_HAVE_ZLIB
  pack = true;
#endif
  for (int wide = 0; wide < 2; wide++) {
    zip z = two_arrays(pack, wide), damaged;
    const char *path = finish(&z, wide);
    CHECK(reads_all(path), "whole");
    for (size_t n = 0; n < z.all.n; n += 1 + n % 5) {
      fixture_bytes(path, z.all.data, n);
      CHECK(!reads_all(path), "cut to %zu of %zu bytes", n, z.all.n);
    }
    for (size_t n = 0; n < z.all.n; n++) {
      damaged = z;
      damaged.all.data[n] ^= n % 2 ? 0xff : 0x01;
      fixture_bytes(path, damaged.all.data, z.all.n);
      (void)reads_all(path);  // that it ends is the test
    }
  }
}

static void finds_damaged_values(void) {
#ifndef GR_HAVE_ZLIB
  SKIP("built without zlib: checksums are not compared");
#endif
  zip z = two_arrays(false, false);
  char *six = memmem(z.all.data, z.all.n, "\0\0\xc0\x40", 4);
  six[3] ^= 1;
  gr_arena *work = gr_arena_create();
  gr_npz file;
  gr_array a;
  MUST(gr_npz_open(work, finish(&z, false), &file));
  fixture_fails(gr_npz_read(&file, "x", &a), GR_ERR_DATA, 0, "the member 'x'");
  gr_npz_close(&file);
  gr_arena_destroy(work);
}

static void refuses_what_is_no_archive(void) {
  gr_arena *work = gr_arena_create();
  gr_npz z;
  fixture_text(fixture_path("b.npz"), "x,y\n1,2\n");
  fixture_fails(gr_npz_open(work, fixture_path("b.npz"), &z), GR_ERR_DATA, 0, "is no .npz file");
  fixture_fails(gr_npz_open(work, fixture_path("none.npz"), &z), GR_ERR_DATA, 0, "cannot open '");
  fixture_fails(gr_npz_open(work, fixture_path("."), &z), GR_ERR_DATA, 0, "it is a folder");
  gr_arena_destroy(work);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad =
      RUN(argc, argv, {"reads_every_type", reads_every_type},
          {"reads_eight_bytes", reads_eight_bytes}, {"reads_text", reads_text},
          {"reads_every_version", reads_every_version}, {"refuses_bad_arrays", refuses_bad_arrays},
          {"reads_stored_and_wide_archives", reads_stored_and_wide_archives},
          {"reads_deflated_archives", reads_deflated_archives},
          {"survives_damage", survives_damage}, {"finds_damaged_values", finds_damaged_values},
          {"refuses_what_is_no_archive", refuses_what_is_no_archive},
          {"reads_any_order", reads_any_order});
  gr_arena_destroy(arena);
  return bad;
}
