// test_table_csv.c - tables as text: what the reader gives, and what it refuses.
#include "runtime/data/csv.h"
#include "tests/runtime/data/fixture.h"

static gr_status read_csv(gr_arena *arena, const char *text, gr_csv *out) {
  const char *path = fixture_path("t.csv");
  fixture_text(path, text);
  return gr_csv_read(arena, path, ',', true, out);
}

static void reads_columns(void) {
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  MUST(read_csv(arena,
                "\xef\xbb\xbf"
                "n,x,\"the \"\"name\"\"\",\r\n"
                "1, 2.5 ,\"a, b\r\nc\",7\r\n"
                "\r\n"
                "-9223372036854775808,1e3,,NA",
                &t));
  CHECK(t.n_columns == 4 && t.rows == 2, "%d columns, %u rows", t.n_columns, t.rows);
  CHECK(gr_csv_find(&t, "the \"name\"") == 2 && gr_csv_find(&t, "c3") == 3, "%s",
        t.columns[2].name);
  CHECK(gr_csv_find(&t, "y") < 0, "no such column");
  const gr_column *c = t.columns;
  CHECK(c[0].type == GR_COLUMN_INT && c[0].ints[1] == INT64_MIN, "integers");
  CHECK(c[1].type == GR_COLUMN_FLOAT && c[1].floats[0] == 2.5 && c[1].floats[1] == 1000, "floats");
  CHECK(c[2].type == GR_COLUMN_TEXT && !strcmp(c[2].texts[0], "a, b\r\nc"), "text");
  CHECK(c[3].type == GR_COLUMN_INT && c[3].ints[0] == 7 && c[3].missing == 1, "missing");
  CHECK(gr_csv_missing(&t, 1, 3) && !gr_csv_missing(&t, 0, 3) && c[3].first_missing == 1, "where");
  CHECK(t.lines[0] == 2 && t.lines[1] == 5, "lines %d and %d", t.lines[0], t.lines[1]);
  gr_arena_destroy(arena);
}

static void reads_without_header(void) {
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  fixture_text(fixture_path("t.csv"), "1;0x10\n2;b");
  MUST(gr_csv_read(arena, fixture_path("t.csv"), ';', false, &t));
  CHECK(t.rows == 2 && !strcmp(t.columns[1].name, "c1"), "%s", t.columns[1].name);
  CHECK(t.columns[0].type == GR_COLUMN_INT && t.columns[1].type == GR_COLUMN_TEXT, "types");
  gr_arena_destroy(arena);
}

static void refuses_bad_tables(void) {
  static const struct {
    const char *text, *message;
    int line;
  } cases[] = {
      {"a,b\n1,2\n3\n", "this line has 1 field, the first has 2", 3},
      {"a,b\n1,\"x\ny\n", "a quoted field does not end", 2},
      {"a,b\n1,\"x\"y\n", "after a field's closing quote", 2},
      {"a,b\n1,x\"y\n", "a quote is inside a field", 2},
      {"a,a\n1,2\n", "two columns are called 'a'", 1},
      {"", "the table is empty", 1},
      {"\n\r\n", "the table is empty", 1},
  };
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    fixture_fails(read_csv(arena, cases[i].text, &t), GR_ERR_DATA, cases[i].line, cases[i].message);
  fixture_bytes(fixture_path("t.csv"), "a,b\n1,\0\n", 8);
  fixture_fails(gr_csv_read(arena, fixture_path("t.csv"), ',', true, &t), GR_ERR_DATA, 2,
                "a NUL byte");
  fixture_fails(gr_csv_read(arena, fixture_path("no.csv"), ',', true, &t), GR_ERR_DATA, 0,
                "cannot open");
  gr_arena_destroy(arena);
}

// Every text of up to five of the characters that mean something: an error with a place, or rows
// that all have as many fields.
static void survives_any_text(void) {
  static const char alphabet[] = ",\"\n\ra1";
  const char *path = fixture_path("any.csv");
  for (int length = 0, most = 1; length <= 5; length++, most *= 6)
    for (int n = 0; n < most; n++) {
      char text[8] = "";
      for (int i = 0, left = n; i < length; i++, left /= 6) text[i] = alphabet[left % 6];
      gr_arena *arena = gr_arena_create();
      gr_csv t;
      fixture_text(path, text);
      gr_status s = gr_csv_read(arena, path, ',', false, &t);
      CHECK(s ? gr_status_loc(s).line > 0 : t.rows > 0 && t.n_columns > 0, "'%s'", text);
      for (uint32_t row = 0; !s && row < t.rows; row++)
        CHECK(t.lines[row] > 0 && t.lines[row] <= length + 1, "'%s': line %d", text, t.lines[row]);
      gr_status_drop(s);
      gr_arena_destroy(arena);
    }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_columns", reads_columns},
             {"reads_without_header", reads_without_header},
             {"survives_any_text", survives_any_text}, {"refuses_bad_tables", refuses_bad_tables});
}
