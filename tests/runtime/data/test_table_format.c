// test_table_format.c - how files of tables are written is found by their first lines; files whose
// rows follow each other; arrays whose names say a split.
#include "runtime/data/csv.h"
#include "runtime/data/table/columns.h"
#include "tests/runtime/data/fixture.h"

static const char *const rows_only[] = {
    "5.1,3.5\n4,5\n",      "7\n8\n",          "1,2,2\n1,2,3\n", "5.1,a\n4,b\n",
    "0.5;1;x\n0.25;2;y\n", "1e-3\tu\n2\tv\n", ",1.5\nx,2\n",
};
static const char *const with_names[] = {
    "0,1,2\n5,6,7\n", "2019, 2020\n1,2\n", "\"5.1\",kind\n4,a\n",   "5.1,kind\nlow,a\n",
    "5.1,kind\n,a\n", "a,b\n1,2\n",        "id,2019,2021\nx,1,2\n",
};

static void finds_the_line_of_names(void) {
  gr_arena *a = gr_arena_create();
  gr_csv t;
  for (int named = 0; named < 2; named++)
    for (size_t i = 0; i < sizeof rows_only / sizeof *rows_only; i++) {
      const char *text = named ? with_names[i] : rows_only[i], *path = fixture_path("n.csv");
      fixture_text(path, text);
      MUST(gr_csv_read(a, path, &gr_csv_any, &t));
      CHECK(t.format.header == named && t.rows == (named ? 1 : 2), "'%s': %u rows", text, t.rows);
      CHECK(named || !strcmp(t.columns[0].name, "c0"), "%s", t.columns[0].name);
    }
  _Static_assert(sizeof rows_only == sizeof with_names, "as many of both");
  gr_arena_destroy(a);
}

static void finds_the_delimiter(void) {
  static const struct {
    const char *text;
    char delimiter;
  } cases[] = {{"a,b\n1,2\n", ','},     {"a;b\n1,5;2,5\n", ';'}, {"a\tb\n1\t2\n", '\t'},
               {"a|b\n1|2\n", '|'},     {"a b\n1 2\n", ' '},     {"a\n1;2\n3\n", ','},
               {"a,b;c\n1,2;3\n", ','}, {"a\nb\n", ','},         {"\"a;b\";c\n\"x\ny\";2\n", ';'},
               {"a;b\r\n1;2\r\n", ';'}};
  gr_arena *a = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture_text(fixture_path("d.csv"), cases[i].text);
    MUST(gr_csv_read(a, fixture_path("d.csv"), &gr_csv_any, &t));
    CHECK(t.format.delimiter == cases[i].delimiter, "'%s': '%c'", cases[i].text,
          t.format.delimiter);
  }
  gr_arena_destroy(a);
}

static void finds_the_encoding(void) {
  static const struct {
    const char *bytes, *text, *encoding;
    size_t n;
  } cases[] = {
      {"\xff\xfe"
       "k\0\n\0\xfc\0\n\0",
       "ü", "UTF-16", 10},
      {"\xfe\xff"
       "\0k\0\n\0\xfc\0\n",
       "ü", "UTF-16", 10},
      {"\xff\xfe"
       "k\0\n\0\x3d\xd8\x00\xde\n\0",
       "\xf0\x9f\x98\x80", "UTF-16", 12},
      {"\xff\xfe\0\0"
       "k\0\0\0\n\0\0\0\xfc\0\0\0",
       "ü", "UTF-32", 16},
      {"k\n\x80\xfc\n", "€ü", "WINDOWS-1252", 5},
      {"\xef\xbb\xbf"
       "k\n\xc3\xbc\n",
       "ü", NULL, 8},
      {"k\n\xc3\xbc", "ü", NULL, 4},
  };
  gr_arena *a = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture_bytes(fixture_path("e.csv"), cases[i].bytes, cases[i].n);
    MUST(gr_csv_read(a, fixture_path("e.csv"), &gr_csv_any, &t));
    CHECK(t.rows == 1 && !strcmp(t.columns[0].texts[0], cases[i].text), "%zu: '%s'", i,
          t.columns[0].texts[0]);
    const char *found = t.format.encoding, *want = cases[i].encoding;
    CHECK(found && want ? !strcmp(found, want) : found == want, "%zu: %s", i, found);
  }
  static const struct {
    const char *bytes, *message;
    size_t n;
    int line;
  } bad[] = {{"k\n\x81\n", "the byte 0x81, or the end of the file, is not WINDOWS-1252", 4, 2},
             {"\xff\xfe"
              "k\0\n\0\x3d\xd8",
              "is not UTF-16", 8, 2},
             {"k\n\xfc\0\n", "a NUL byte", 5, 2},
             {"\xff\xfe"
              "k\0\0\0",
              "a NUL byte", 6, 1},
             {"", "the table is empty", 0, 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    fixture_bytes(fixture_path("e.csv"), bad[i].bytes, bad[i].n);
    fixture_fails(gr_csv_read(a, fixture_path("e.csv"), &gr_csv_any, &t), GR_ERR_DATA, bad[i].line,
                  bad[i].message);
  }
  gr_arena_destroy(a);
}

// ---- Several files ------------------------------------------------------------------------------

static gr_status open_pattern(gr_arena *a, const char *name, gr_split split, gr_columns *out) {
  const char **path = GR_NEW(a, const char *, 1);
  path[0] = gr_arena_strdup(a, fixture_path("%s", name));
  return gr_columns_open(a, path, 1, &gr_csv_any, split, NULL, out);
}

static void rows_follow_each_other(void) {
  gr_arena *a = gr_arena_create();
  gr_columns c;
  const gr_array *v;
  fixture_text(fixture_path("m2.csv"), "n;x\n10;1\n");
  fixture_text(fixture_path("m10.csv"), "n,x\n1,a\n2,b\n");
  MUST(open_pattern(a, "m*.csv", GR_SPLIT_TRAIN, &c));
  MUST(gr_columns_read(&c, 0, &v));
  CHECK(c.rows == 3 && gr_array_number(v, 2) == 10, "%lld rows", (long long)c.rows);
  gr_loc last = gr_columns_place(&c, 2), first = gr_columns_place(&c, 0);
  CHECK(strstr(last.file, "m2.csv") && last.line == 2, "%s:%d", last.file, last.line);
  CHECK(strstr(first.file, "m10.csv") && first.line == 2, "by bytes, %s", first.file);
  MUST(gr_columns_read(&c, 1, &v));
  CHECK(gr_array_is_text(v), "one type for all");
  gr_columns_close(&c);
  fixture_text(fixture_path("m2.csv"), "\nn,y\n10,1\n");
  gr_status s = open_pattern(a, "m*.csv", GR_SPLIT_TRAIN, &c);
  CHECK(gr_status_loc(s).col == 3, "column %d", gr_status_loc(s).col);
  fixture_fails(s, GR_ERR_DATA, 2, "the column 2 is 'y', and 'x' in");
  fixture_text(fixture_path("m10.csv"), "n,x\n");
  fixture_fails(open_pattern(a, "m*.csv", GR_SPLIT_TRAIN, &c), GR_ERR_DATA, 2, "is 'y', and 'x'");
  fixture_fails(open_pattern(a, "none*.csv", GR_SPLIT_TRAIN, &c), GR_ERR_DATA, 0,
                "no file matches");
  gr_arena_destroy(a);
}

// An array [rows, 2] of floats, or [rows] of bytes.
static void put_npy(const char *name, int rows, bool floats, float value) {
  char file[512];
  int n =
      snprintf(file, sizeof file,
               "\x93NUMPY\x01%c\x76%c{'descr': '%s', 'fortran_order': False, 'shape': (%d,%s), }",
               0, 0, floats ? "<f4" : "|u1", rows, floats ? " 2" : "");
  memset(file + n, ' ', (size_t)(128 - n)), file[127] = '\n';
  for (int i = 0; i < rows * 2 && floats; i++) memcpy(file + 128 + 4 * i, &value, 4);
  for (int i = 0; i < rows && !floats; i++) file[128 + i] = (char)value;
  fixture_bytes(fixture_path("%s", name), file, 128 + (size_t)rows * (floats ? 8 : 1));
}

static void arrays_follow_each_other(void) {
  gr_arena *a = gr_arena_create();
  gr_columns c;
  const gr_array *v;
  put_npy("part_a.npy", 2, true, 1), put_npy("part_b.npy", 3, true, 2);
  MUST(open_pattern(a, "part_*.npy", GR_SPLIT_TRAIN, &c));
  CHECK(c.n == 1 && !strcmp(c.items[0].name, "part"), "%s", c.items[0].name);
  MUST(gr_columns_read(&c, 0, &v));
  CHECK(v->dim[0] == 5 && v->count == 10, "%lld", (long long)v->dim[0]);
  CHECK(gr_array_number(v, 3) == 1 && gr_array_number(v, 4) == 2, "in order");
  MUST(gr_columns_check(&c));
  gr_columns_close(&c);
  put_npy("part_c.npy", 3, false, 2);
  MUST(open_pattern(a, "part_*.npy", GR_SPLIT_TRAIN, &c));
  fixture_fails(gr_columns_read(&c, 0, &v), GR_ERR_DATA, 0, "rows of another type or shape");
  gr_columns_close(&c);
  gr_arena_destroy(a);
}

static void names_say_splits(void) {
  static const char *const names[] = {"X_train.npy", "y_train.npy", "X_test.npy", "y_test.npy"};
  gr_arena *a = gr_arena_create();
  const char *paths[4];
  gr_columns c;
  for (int i = 0; i < 4; i++) {
    put_npy(names[i], i < 2 ? 4 : 3, !(i % 2), (float)i);
    paths[i] = gr_arena_strdup(a, fixture_path("%s", names[i]));
  }
  MUST(gr_columns_open(a, paths, 4, &gr_csv_any, GR_SPLIT_TRAIN, NULL, &c));
  CHECK(c.n == 2 && c.rows == 4 && c.has_other, "%d columns, %lld rows", c.n, (long long)c.rows);
  CHECK(gr_columns_find(&c, "X") == 0 && gr_columns_find(&c, "y_train") == 1, "both names");
  CHECK(gr_columns_find(&c, "X_test") < 0, "of the other split");
  gr_columns_close(&c);
  MUST(gr_columns_open(a, paths, 4, &gr_csv_any, GR_SPLIT_VALIDATION, NULL, &c));
  CHECK(c.n == 2 && c.rows == 3, "%lld rows", (long long)c.rows);
  gr_columns_close(&c);
  MUST(gr_columns_open(a, paths + 2, 2, &gr_csv_any, GR_SPLIT_TRAIN, NULL, &c));
  CHECK(c.n == 2 && c.rows == 3 && !c.has_other && gr_columns_find(&c, "y") == 1, "only a test");
  gr_columns_close(&c);
  fixture_fails(gr_columns_open(a, paths + 1, 2, &gr_csv_any, GR_SPLIT_BY_KEY, NULL, &c),
                GR_ERR_DATA, 0, "has 3 rows, others have 4");
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"finds_the_line_of_names", finds_the_line_of_names},
             {"finds_the_delimiter", finds_the_delimiter},
             {"finds_the_encoding", finds_the_encoding},
             {"rows_follow_each_other", rows_follow_each_other},
             {"arrays_follow_each_other", arrays_follow_each_other},
             {"names_say_splits", names_say_splits});
}
