// test_idx.c - the reader of IDX, the format of MNIST's files: what it gives, and what it refuses.
#include "runtime/data/table/idx.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;  // of what is parsed

static gr_status parse(const void *bytes, size_t n, gr_array *out) {
  return gr_idx_parse(arena, "a-idx1-ubyte", "a", bytes, n, out);
}

static void reads_every_type(void) {
  static const struct {
    unsigned char code, size;
    const char *type;
    unsigned char of[8];
    double want;
  } cases[] = {{8, 1, "u8", {200}, 200},          {9, 1, "i8", {254}, -2},
               {11, 2, "i16", {1, 2}, 258},       {12, 4, "i32", {255, 255, 255, 253}, -3},
               {13, 4, "f32", {0x3f, 0xc0}, 1.5}, {14, 8, "f64", {0xc0, 4}, -2.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char bytes[12 + 16] = {0, 0, cases[i].code, 2, 0, 0, 0, 2, 0, 0, 0, 1};
    gr_array a;
    memcpy(bytes + 12 + cases[i].size, cases[i].of, cases[i].size);
    MUST(parse(bytes, 12 + 2 * (size_t)cases[i].size, &a));
    CHECK(!strcmp(gr_array_type(&a), cases[i].type), "%s", gr_array_type(&a));
    CHECK(a.rank == 2 && a.dim[0] == 2 && a.dim[1] == 1 && a.count == 2, "%d dimensions", a.rank);
    CHECK(gr_array_number(&a, 0) == 0 && gr_array_number(&a, 1) == cases[i].want, "%g",
          gr_array_number(&a, 1));
  }
}

static void unpacks_gzip(void) {
#ifndef GR_HAVE_ZLIB
  SKIP("built without zlib: what gzip has packed is not read");
#endif
  // printf '\0\0\10\1\0\0\0\2\7\11' | gzip -n
  static const unsigned char packed[] = {31, 139, 8,   0,   0,   0,   0,  0,  0,  3,
                                         99, 96,  224, 96,  100, 96,  96, 96, 98, 231,
                                         4,  0,   122, 130, 1,   163, 10, 0,  0,  0};
  unsigned char cut[sizeof packed];
  gr_array a;
  MUST(parse(packed, sizeof packed, &a));
  CHECK(a.count == 2 && gr_array_number(&a, 0) == 7 && gr_array_number(&a, 1) == 9, "%lld values",
        (long long)a.count);
  memcpy(cut, packed, sizeof packed);
  cut[sizeof cut - 5] ^= 1;  // of its checksum
  fixture_fails(parse(cut, sizeof cut, &a), GR_ERR_DATA, 0, "it cannot be unpacked");
  fixture_fails(parse(packed, 12, &a), GR_ERR_DATA, 0, "it cannot be unpacked");
  memset(cut + sizeof cut - 4, 255, 4);  // a size that no file so small has
  fixture_fails(parse(cut, sizeof cut, &a), GR_ERR_DATA, 0, "it cannot be unpacked");
}

static void refuses_what_is_none(void) {
  static const struct {
    unsigned char bytes[12];
    size_t n;
    const char *why;
  } cases[] = {{{0, 0, 8}, 3, "does not begin with two zero bytes"},
               {{1, 0, 8, 1, 0, 0, 0, 1, 5}, 9, "does not begin with two zero bytes"},
               {{0, 0, 10, 1, 0, 0, 0, 1, 5}, 9, "its third byte is no type"},
               {{0, 0, 8, 7, 0, 0, 0, 1, 5}, 9, "no number of dimensions from 1 to 6"},
               {{0, 0, 8, 0}, 4, "no number of dimensions from 1 to 6"},
               {{0, 0, 8, 2, 0, 0, 0, 1, 5}, 9, "ends within the sizes"},
               {{0, 0, 8, 1, 0, 0, 0, 2, 5}, 9, "it is cut short"},
               {{0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255}, 12, "it is cut short"},
               {{0, 0, 8, 1, 0, 0, 0, 1, 5, 6}, 10, "bytes after its last value"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_array a;
    fixture_fails(parse(cases[i].bytes, cases[i].n, &a), GR_ERR_DATA, 0, cases[i].why);
  }
}

static void names_what_is_in_a_file(void) {
  static const char *const names[][2] = {{"a/train-images-idx3-ubyte", "train-images"},
                                         {"train-labels.idx1-ubyte.gz", "train-labels"},
                                         {"idx-ubyte", "idx"},
                                         {"a/my-ubyte", "my"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK(!strcmp(gr_idx_name(arena, names[i][0]), names[i][1]), "%s", names[i][0]);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad = RUN(argc, argv, {"reads_every_type", reads_every_type}, {"unpacks_gzip", unpacks_gzip},
                {"refuses_what_is_none", refuses_what_is_none},
                {"names_what_is_in_a_file", names_what_is_in_a_file});
  gr_arena_destroy(arena);
  return bad;
}
