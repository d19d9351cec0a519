// test_pickle.c - pickles of NumPy's arrays, and the data set that is one: what they give, and that
// no bytes of them can do harm.
#include <stdlib.h>
#include "base/rng.h"
#include "runtime/data/mapping.h"
#include "runtime/data/table/import.h"
#include "runtime/data/table/pickle.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;

typedef struct bytes {
  unsigned char at[4096];
  size_t n;
} bytes;

static gr_status parse(const bytes *b, gr_pickle **out) {
  return gr_pickle_read(arena, "a.pkl", b->at, b->n, out);
}

static bytes of_text(const char *text, size_t n) {
  bytes b = {.n = n};
  memcpy(b.at, text, n);
  return b;
}
#define PICKLE(text) of_text(text, sizeof text - 1)

// ---- Values -------------------------------------------------------------------------------------

static void reads_values(void) {
  arena = gr_arena_create();
  // {'a': [1, -2, 300, None, True, 0.5], 'b': ('xy', b'z')}
  bytes b = PICKLE(
      "\x80\x04\x95\x3d\0\0\0\0\0\0\0}\x94(\x8c\x01"
      "a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01N\x88G?\xe0\0\0\0\0\0\0e\x8c\x01"
      "b\x94\x8c\x02xy\x94"
      "C\x01z\x94\x86\x94u.");
  gr_pickle *v;
  MUST(parse(&b, &v));
  const gr_pickle *list = gr_pickle_member(v, "a"), *pair = gr_pickle_member(v, "b");
  CHECK(v->kind == GR_PICKLE_DICT && list && pair, "a dictionary of two");
  CHECK(list->n == 6 && list->items[1]->i == -2 && list->items[2]->i == 300, "numbers");
  CHECK(list->items[3]->kind == GR_PICKLE_NONE && list->items[4]->i == 1, "None and True");
  CHECK(list->items[5]->f == 0.5, "%g", list->items[5]->f);
  CHECK(!strcmp(pair->items[0]->text, "xy") && pair->items[1]->kind == GR_PICKLE_BYTES, "texts");
  CHECK(!gr_pickle_member(v, "c"), "no such member");
  gr_arena_destroy(arena);
}

// An array of two rows, whose values have this type and byte order, as protocol 2 has it.
static bytes array_of(const char *type, char order, int columns, bool fortran, const char *values,
                      size_t n) {
  bytes b = PICKLE("cnumpy.core.multiarray\n_reconstruct\n)R(K\x01");
  b.n += (size_t)sprintf((char *)b.at + b.n,
                         "K%cK%c\x86"
                         "cnumpy\ndtype\nX%c",
                         2, columns, 2);
  memcpy(b.at + b.n, "\0\0\0", 3), b.n += 3;
  b.n += (size_t)sprintf((char *)b.at + b.n, "%s\x85R(K\x03X\x01", type);
  memcpy(b.at + b.n, "\0\0\0", 3), b.n += 3;
  b.n += (size_t)sprintf((char *)b.at + b.n, "%ctb%cC%c", order, fortran ? 0x88 : 0x89, (int)n);
  memcpy(b.at + b.n, values, n), b.n += n;
  memcpy(b.at + b.n, "tb.", 3), b.n += 3;
  return b;
}

// Of any byte order and with either axis first; but with whole values, as many as the shape says.
static void reads_arrays(void) {
  arena = gr_arena_create();
  bytes cases[] = {array_of("f4", '<', 1, false, "\0\0\x80\x3f\0\0\0\xc0", 8),
                   array_of("f4", '>', 1, false, "\x3f\x80\0\0\xc0\0\0\0", 8),
                   array_of("i2", '>', 1, false, "\0\1\xff\xfe", 4)};
  gr_pickle *v;
  for (int i = 0; i < 3; i++) {
    MUST(parse(&cases[i], &v));
    CHECK(v->kind == GR_PICKLE_ARRAY && v->array.rank == 2 && v->array.count == 2, "array %d", i);
    for (int64_t k = 0; k < 2; k++)
      CHECK(gr_array_number(&v->array, k) == (k ? -2 : 1), "array %d: %g", i,
            gr_array_number(&v->array, k));
  }
  for (int fortran = 0; fortran < 2; fortran++) {
    bytes b = array_of("u1", '|', 3, fortran, fortran ? "\1\4\2\5\3\6" : "\1\2\3\4\5\6", 6);
    MUST(parse(&b, &v));
    for (int64_t k = 0; k < 6; k++)
      CHECK(gr_array_number(&v->array, k) == (double)k + 1, "%d: value %d is %g", fortran, (int)k,
            gr_array_number(&v->array, k));
  }
  static const size_t wrong[] = {7, 9, 11, 12};
  for (int i = 0; i < 4; i++) {
    bytes b = array_of("f4", '<', 1, false, "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0", wrong[i]);
    fixture_fails(parse(&b, &v), GR_ERR_DATA, 0, "not as many values as its shape says");
  }
  gr_arena_destroy(arena);
}

static void calls_nothing(void) {
  arena = gr_arena_create();
  static const struct {
    bytes b;
    const char *message;
  } cases[] = {
      {{"cos\nsystem\n(X\x04\0\0\0truetR.", 24}, "calls Python's 'os.system' at byte"},
      {{"\x8c\x08"
        "builtins\x8c\x04"
        "eval\x93)R.",
        20},
       "calls Python's 'builtins.eval'"},
      {{"cnumpy\ndtype\n)R.", 16}, "a dtype has no name"},
      {{"K", 1}, "the file ends in an instruction"},
      {{"X\xff\xff\xff\xff", 5}, "the file ends in a text"},
      {{"cos", 3}, "the file ends in a name"},
      {{"N", 1}, "the file ends before the pickle does"},
      {{".", 1}, "more or less than one value is left"},
      {{"NN.", 3}, "more or less than one value is left"},
      {{"t.", 2}, "the stack is empty"},
      {{"h\x05.", 3}, "a value that is not kept"},
      {{"Nr\xff\xff\xff\x7f.", 7}, "a value is kept out of order"},
      {{"Na.", 3}, "no list or dictionary"},
      {{"NNa.", 4}, "no list or dictionary"},
      {{"(a.", 3}, "a mark is where a value should be"},
      {{"\xff.", 2}, "an instruction that is not known"},
      {{"NNb.", 4}, "a state should be here"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_pickle *v;
    fixture_fails(parse(&cases[i].b, &v), GR_ERR_DATA, 0, cases[i].message);
  }
  gr_arena_destroy(arena);
}

// ---- The data set of seglearn -------------------------------------------------------------------

static bytes golden(int protocol) {
  bytes b;
  char path[512];
  snprintf(path, sizeof path, "%s/watch%d.npy", GR_GOLDEN, protocol);
  FILE *f = fopen(path, "rb");
  CHECK(f, "cannot open %s", path);
  b.n = f ? fread(b.at, 1, sizeof b.at, f) : 0;
  if (f) fclose(f);
  return b;
}

static gr_status import(const bytes *b, gr_import_watch *out) {
  const char *from = fixture_path("watch_dataset.npy"), *to = fixture_path("imported");
  fixture_bytes(from, b->at, b->n);
  return gr_import_watch_run(from, to, out);
}

static void imports(void) {
  for (int protocol = 2; protocol <= 4; protocol += 2) {
    bytes b = golden(protocol);
    gr_import_watch n;
    MUST(import(&b, &n));
    CHECK(n.moments == 14 && n.recordings == 4 && n.exercises == 2 && n.subjects == 3, "counts");
    gr_mapping values, lines;
    MUST(gr_mapping_open(fixture_path("imported/watch.npy"), &values));
    MUST(gr_mapping_open(fixture_path("imported/watch.csv"), &lines));
    CHECK(values.bytes == 128 + 14 * 3 * 4, "%zu bytes", values.bytes);
    float x[14 * 3];
    memcpy(x, values.at + 128, sizeof x);
    for (int i = 0, row = 0; i < 4; i++)  // as tests/golden/make_watch.py makes them
      for (int k = 0; k < 3 * "\4\2\3\5"[i]; k++) {
        CHECK(x[3 * row + k % 3] == (float)k / 4 - (float)"\4\2\3\5"[i], "recording %d at %d", i,
              k);
        row += k % 3 == 2;
      }
    static const char first[] = "exercise,side,subject,recording,split\nLIFT,right,1,0,train\n";
    CHECK(!strncmp((const char *)lines.at, first, strlen(first)), "the first lines");
    CHECK(strstr((const char *)lines.at, "\nROW,right,5,2,validation\n"), "a fifth subject");
    gr_mapping_close(&values), gr_mapping_close(&lines);
  }
}

static void says_what_is_missing(void) {
  gr_import_watch n;
  bytes b = golden(2), cut = b, list = PICKLE("\x93NUMPY\x01\0\0\0].");
  cut.n = 700;
  fixture_fails(import(&cut, &n), GR_ERR_DATA, 0, "the file ends in a text");
  fixture_fails(import(&list, &n), GR_ERR_DATA, 0, "is not the data set of seglearn: X is no list");
  b.at[0] = 'x';
  fixture_fails(import(&b, &n), GR_ERR_DATA, 0, "is no file of NumPy");
  fixture_fails(gr_import_watch_run(NULL, fixture_path("imported"), &n), GR_ERR_DATA, 0,
                "there is no wheel of seglearn");
}

// ---- Damage -------------------------------------------------------------------------------------

// Whatever bytes change, reading ends well or with an error that has a text.
static void survives(const bytes *whole, size_t n, uint64_t round) {
  gr_rng r = gr_rng_make(3, "pickle", round);
  bytes b = {.n = n};
  memcpy(b.at, whole->at + 128, n);
  for (uint64_t i = 0; i < 1 + round % 4; i++)
    b.at[gr_rng_below(&r, 2 * i, n)] = (unsigned char)gr_rng_u32(&r, 2 * i + 1);
  gr_pickle *v;
  arena = gr_arena_create();
  gr_status s = parse(&b, &v);
  CHECK(!s || *gr_status_text(s), "an error says what is wrong");
  gr_status_drop(s);
  gr_arena_destroy(arena);
}

static void survives_damage(void) {
  for (int protocol = 2; protocol <= 4; protocol += 2) {
    bytes b = golden(protocol);
    size_t n = b.n - 128;
    for (uint64_t round = 0; round < 4000; round++) survives(&b, n, round);
    for (size_t cut = 1; cut < n; cut++) survives(&b, cut, cut);
  }
}

// Damaged data sets that are still pickles are imported, or it is said what is wrong.
static void imports_damaged(void) {
  gr_import_watch n;
  for (uint64_t round = 0; round < 150; round++) {
    gr_rng r = gr_rng_make(5, "watch", round);
    bytes b = golden(2);
    b.at[128 + gr_rng_below(&r, 0, b.n - 128)] = (unsigned char)gr_rng_u32(&r, 1);
    gr_status s = import(&b, &n);
    CHECK(!s || *gr_status_text(s), "an error says what is wrong");
    gr_status_drop(s);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_values", reads_values}, {"reads_arrays", reads_arrays},
             {"calls_nothing", calls_nothing}, {"imports", imports},
             {"says_what_is_missing", says_what_is_missing}, {"survives_damage", survives_damage},
             {"imports_damaged", imports_damaged});
}
