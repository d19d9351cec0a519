// test_table_csv.c - tables as text: what the reader gives, and what it refuses.
#include "runtime/data/csv.h"
#include "runtime/data/csv_cell.h"
#include "tests/runtime/data/fixture.h"

static const gr_csv_format named = {',', true, "data.table"}, unnamed = {',', false, "data.table"};

static gr_status read_csv(gr_arena *arena, const char *text, gr_csv *out) {
  const char *path = fixture_path("t.csv");
  fixture_text(path, text);
  return gr_csv_read(arena, path, &named, out);
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
  MUST(gr_csv_read(arena, fixture_path("t.csv"), &(gr_csv_format){';', false, NULL}, &t));
  CHECK(t.rows == 2 && !strcmp(t.columns[1].name, "c1"), "%s", t.columns[1].name);
  CHECK(t.columns[0].type == GR_COLUMN_INT && t.columns[1].type == GR_COLUMN_TEXT, "types");
  gr_arena_destroy(arena);
}

// The first files of several may have no more than their line of names.
static void skips_files_without_rows(void) {
  static const char *const texts[] = {"a,b\n", "a,b\n", "a,b\n1,2\n3,4\n", "a,b\n", "a,b\n5,6\n"};
  enum { FILES = sizeof texts / sizeof *texts };
  const char *paths[FILES];
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (int i = 0; i < FILES; i++) {
    paths[i] = gr_arena_strdup(arena, fixture_path("t%d.csv", i));
    fixture_text(paths[i], texts[i]);
  }
  for (int first = 0; first < 3; first++) {
    MUST(gr_csv_read_all(arena, paths + first, FILES - first, &named, &t));
    CHECK(t.rows == 3 && t.columns[1].type == GR_COLUMN_INT, "%u rows", t.rows);
    for (uint32_t row = 0; row < t.rows && t.columns[1].ints; row++)
      CHECK(t.columns[0].ints[row] == 2 * row + 1 && t.columns[1].ints[row] == 2 * row + 2,
            "row %u", row);
    CHECK(gr_csv_place(&t, 2).file == paths[4] && t.lines[2] == 2, "where the last row is");
  }
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
      {"a,b\n1,2\n3,4,5\n", "this line has 3 fields, the first has 2", 3},
      {"a,a\n1,2\n", "two columns are called 'a'", 1},
      {"", "the table is empty", 1},
      {"\n\r\n", "the table is empty", 1},
  };
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    fixture_fails(read_csv(arena, cases[i].text, &t), GR_ERR_DATA, cases[i].line, cases[i].message);
  fixture_bytes(fixture_path("t.csv"), "a,b\n1,\0\n", 8);
  fixture_fails(gr_csv_read(arena, fixture_path("t.csv"), &named, &t), GR_ERR_DATA, 2,
                "a NUL byte");
  fixture_fails(gr_csv_read(arena, fixture_path("no.csv"), &named, &t), GR_ERR_DATA, 0,
                "cannot open");
  gr_arena_destroy(arena);
}

// The delimiter is another where the first lines say so, and not where a text has it.
static void finds_wrong_delimiters(void) {
  static const struct {
    const char *text, *message;
    int line;
  } cases[] = {
      {"a;b;c\n1;2;3\n",
       "between ',' this line has 1 field; between ';' each of the first 2 lines has 3", 1},
      {"\n\r\na\tb\r\n1\t2\r\n", "between '\\t' each of the first 2 lines has 2", 3},
      {"a b\n1 2\n3 4\n", "between ' ' each of the first 3 lines has 2", 1},
      {"a;b\n1,5;2\n", "between ',' this line has 2 fields and the first 1; between ';'", 2},
      {"\"a;b\";c\n\"x\ny\";2\n", "between ';' each of the first 2 lines has 2", 1},
      {"a|b\n1|2\n", "between '|'", 1},
      {"a,b c\n1,2 3\n4\n", "this line has 1 field, the first has 2", 3},  // not ' '
  };
  static const char *const good[] = {"a\n1;2\n3\n", "a,b;c\n1,2;3\n", "\"a;b\"\n\"1;2\"\n",
                                     "a\nb\n", "\"a,b\",c\n\"1;2\",3\n"};
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    fixture_fails(read_csv(arena, cases[i].text, &t), GR_ERR_DATA, cases[i].line, cases[i].message);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) MUST(read_csv(arena, good[i], &t));
  gr_status s = read_csv(arena, "a\tb\n1\t2\n", &t);
  CHECK(strstr(gr_status_hint(s), "data.table.delimiter: \"\\t\""), "%s", gr_status_hint(s));
  gr_status_drop(s);
  fixture_text(fixture_path("t.csv"), "a;b\n1;2\n");
  s = gr_csv_read(arena, fixture_path("t.csv"), &gr_csv_fixed, &t);
  CHECK(strstr(gr_status_hint(s), "fields of this file are separated by ',': `tr ';' ',' <"), "%s",
        gr_status_hint(s));
  gr_status_drop(s);
  gr_arena_destroy(arena);
}

// A byte that is not UTF-8 at any place of words of eight bytes, and after letters of several
// bytes.
static void refuses_what_is_no_text(void) {
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (int before = 0; before < 20; before++) {
    char text[64];
    snprintf(text, sizeof text, "name\n%.*s\xc3\xbc\xe2\x82\xac%s", before, "abcdefghijklmnopqrst",
             "\xfc rest\n");
    gr_status s = read_csv(arena, text, &t);
    CHECK(gr_status_loc(s).col == before + 6, "column %d", gr_status_loc(s).col);
    fixture_fails(s, GR_ERR_DATA, 2, "the byte 0xfc is not UTF-8");
    *strchr(text, '\xfc') = 'u';
    MUST(read_csv(arena, text, &t));
  }
  fixture_fails(read_csv(arena, "a\n\xc3", &t), GR_ERR_DATA, 2, "the byte 0xc3");
  fixture_fails(read_csv(arena, "a\r1\r2\r", &t), GR_ERR_DATA, 1, "lines end in CR alone");
  MUST(read_csv(arena, "a\r\n\"1\r2\"\r\n", &t));
  gr_arena_destroy(arena);
}

// A line of numbers is no line of names, unless they count up or one is in quotes.
static void finds_rows_for_names(void) {
  static const char *const rows[] = {"5.1,3.5\n4,5\n", "1,3\n4,5\n", "7\n8\n", "2,1\n4,5\n",
                                     "1,2,2\n1,2,3\n"};
  static const char *const names[] = {"0,1,2\n5,6,7\n", "2019, 2020\n1,2\n", "5.1,\"3.5\"\n4,5\n",
                                      "5.1,kind\n4,a\n", "5.1,\n4,5\n"};
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture_fails(read_csv(arena, rows[i], &t), GR_ERR_DATA, 1, "has numbers only");
    MUST(gr_csv_read(arena, fixture_path("t.csv"), &unnamed, &t));
    CHECK(t.rows == 2, "%u rows", t.rows);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    MUST(read_csv(arena, names[i], &t));
    CHECK(t.rows == 1, "%u rows", t.rows);
  }
  fixture_fails(read_csv(arena, "5,5,a\n1,2,b\n", &t), GR_ERR_DATA, 1,
                "two columns are called '5'");
  gr_arena_destroy(arena);
}

// More than half of the cells that are not missing; numbers with commas count.
static void counts_numbers_among_text(void) {
  static const struct {
    const char *text;
    uint32_t numbers, commas, first;
    bool mostly;
  } cases[] = {
      {"a\n1\nx\n2\ny\n", 2, 0, 1, false},
      {"a\n1\nx\n2\ny\n3.5\n", 3, 0, 1, true},
      {"a\n1\nx\nNA\n2\n", 2, 0, 1, true},
      {"a\nx\nNA\n\"\"\n2\n", 1, 0, 0, false},
      {"a,b\nx,1\n\"1,5\",2\n\"1,234.5\",3\n", 0, 2, 0, true},
      {"a,b\nx,1\n\"1,5\",2\n\"a,b\",3\n\",\",4\n", 0, 1, 0, false},
  };
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    MUST(read_csv(arena, cases[i].text, &t));
    const gr_column *c = t.columns;
    CHECK(
        c->type == GR_COLUMN_TEXT && c->numbers == cases[i].numbers && c->commas == cases[i].commas,
        "%zu: %u numbers, %u with commas", i, c->numbers, c->commas);
    CHECK(c->first_text == cases[i].first, "%zu: row %u", i, c->first_text);
    CHECK(gr_csv_mostly_numbers(&t, 0) == cases[i].mostly, "%zu", i);
  }
  MUST(read_csv(arena, "a,b\n1,1\nx,x\n3,2.5\n,4\n", &t));
  gr_csv_make_numbers(arena, &t, 0), gr_csv_make_numbers(arena, &t, 1);
  CHECK(t.columns[0].type == GR_COLUMN_INT && t.columns[0].ints[2] == 3, "integers");
  CHECK(t.columns[1].type == GR_COLUMN_FLOAT && t.columns[1].floats[2] == 2.5, "floats");
  CHECK(t.columns[0].missing == 2 && t.columns[0].first_missing == 1, "two are missing");
  CHECK(gr_csv_missing(&t, 1, 0) && gr_csv_missing(&t, 3, 0) && !gr_csv_missing(&t, 3, 1), "which");
  uint32_t rows;
  MUST(read_csv(arena, "a,b\nx,1\ny,2\nx,1\nNA,1\n", &t));
  CHECK(gr_csv_distinct(&t, 0, &rows) == 2 && rows == 3, "%u rows", rows);
  CHECK(gr_csv_distinct(&t, 1, &rows) == 2 && rows == 4, "%u rows", rows);
  gr_arena_destroy(arena);
}

static void knows_missing_cells(void) {
  static const char *const words[] = {"NA",   "n/a", "#N/A", "<NA>", "nan",
                                      "NULL", "?",   "",     " ?",   "NA \t"};
  static const char *const values[] = {"-", "??", "NAN1", "NA 1", "none", "nullify"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    CHECK(gr_cell_missing(words[i]), "'%s' is a value", words[i]);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    CHECK(!gr_cell_missing(values[i]), "'%s' is none", values[i]);
}

static void knows_true_and_false(void) {
  gr_arena *arena = gr_arena_create();
  gr_csv t;
  MUST(read_csv(arena, "a,b,c,d\nTrue,true,true,NA\nNA,FALSE,no,NA\nfalse,1,false,NA\n", &t));
  CHECK(gr_csv_is_flags(&t, 0), "true, missing, false");
  for (int c = 1; c < t.n_columns; c++) CHECK(!gr_csv_is_flags(&t, c), "column %d", c);
  gr_csv_make_numbers(arena, &t, 0);
  const gr_column *a = t.columns;
  CHECK(a->type == GR_COLUMN_INT && a->ints[0] == 1 && a->ints[2] == 0, "1 and 0");
  CHECK(a->missing == 1 && gr_csv_missing(&t, 1, 0), "what is missing stays so");
  CHECK(!gr_csv_is_flags(&t, 0), "it is no text any more");
  gr_arena_destroy(arena);
}

// Every text of up to five of the characters that mean something: an error with a place, or rows
// that all have as many fields.
// A number as people and programs write it, with so many digits of so many after the point.
static void write_number(char text[64], uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  uint64_t digits = (*seed >> 5) >> (*seed >> 33) % 58, kind = *seed >> 60;
  int after = (int)((*seed >> 40) % 26);
  const char *sign = kind % 3 ? "" : kind % 2 ? "-" : "+";
  if (kind < 10)
    snprintf(text, 64, "%s%llu.%0*llu", sign, (unsigned long long)(digits % 1000), after,
             (unsigned long long)digits);
  else if (kind < 12)
    snprintf(text, 64, "%s%llu", sign, (unsigned long long)digits);
  else if (kind < 14)
    snprintf(text, 64, "%s.%llu", sign, (unsigned long long)digits);
  else
    snprintf(text, 64, "%s%llu.e%d", sign, (unsigned long long)digits, after - 13);
}

// Bit by bit what C reads, signs of zeros included.
static void numbers_are_those_of_c(void) {
  static const char *const odd[] = {"-0",       "-0.0",    "0.",      "9007199254740993",
                                    "1e22",     "1e23",    ".5",      "9007199254740992.5",
                                    "0.1e-400", "1e999",   "inf",     "18446744073709551616",
                                    "-.25",     "+7.0000", "0000.10", "184467440737095516.15"};
  enum { ODD = sizeof odd / sizeof *odd, NUMBERS = 20000 };
  uint64_t seed = 7;
  char text[64];
  for (int i = 0; i < ODD + NUMBERS; i++) {
    if (i >= ODD) write_number(text, &seed);
    const char *cell = i < ODD ? odd[i] : text;
    double expected = strtod(cell, NULL), found = 1;
    CHECK(gr_cell_float(cell, &found) && !memcmp(&expected, &found, sizeof found),
          "%s is %.17g and not %.17g", cell, expected, found);
  }
  static const char *const none[] = {".",   "-",   "+.",   "1.2.3", "1-2",
                                     "--1", "1 2", "0x10", "1e",    ""};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    double f;
    CHECK(!gr_cell_float(none[i], &f), "'%s' is a number", none[i]);
  }
}

// Columns are read in blocks of rows: one may become another type in any of them.
static void types_of_long_columns(void) {
  enum { ROWS = 5000, FLOAT = 2500, TEXT = 4100, LAST_TEXT = 4900, HOLE = 7, LAST_HOLE = 4000 };
  gr_arena *arena = gr_arena_create();
  gr_text text = gr_text_make(arena);
  gr_csv t;
  gr_text_put(&text, "i,f,s,h\n");
  for (int row = 0; row < ROWS; row++)
    gr_text_printf(&text, "%d,%d%s,%s%d,%s\n", row, row, row == FLOAT ? ".5" : "",
                   row == TEXT || row == LAST_TEXT ? "no. " : "", row,
                   row == HOLE || row == LAST_HOLE ? ""
                   : row == FLOAT                  ? "0.25"
                                                   : "-0");
  MUST(read_csv(arena, text.chars, &t));
  const gr_column *c = t.columns;
  CHECK(c[0].type == GR_COLUMN_INT && c[1].type == GR_COLUMN_FLOAT && c[2].type == GR_COLUMN_TEXT,
        "types %d, %d and %d", c[0].type, c[1].type, c[2].type);
  CHECK(c[2].first_text == TEXT && c[2].first_text_column == 11 && c[2].numbers == ROWS - 2,
        "the first text is in row %u, column %d, among %u numbers", c[2].first_text,
        c[2].first_text_column, c[2].numbers);
  for (int row = 0; row < ROWS; row++)
    CHECK(c[0].ints[row] == row && c[1].floats[row] == row + (row == FLOAT ? 0.5 : 0),
          "row %d has %g and %g", row, (double)c[0].ints[row], c[1].floats[row]);
  CHECK(c[3].type == GR_COLUMN_FLOAT && c[3].missing == 2 && c[3].first_missing == HOLE,
        "%u cells are missing, the first in row %u", c[3].missing, c[3].first_missing);
  for (int row = 0; row < ROWS; row++) {
    bool hole = row == HOLE || row == LAST_HOLE;
    double value = row == FLOAT ? 0.25 : hole ? 0.0 : -0.0;
    CHECK(!memcmp(&c[3].floats[row], &value, sizeof value) &&
              gr_csv_missing(&t, (uint32_t)row, 3) == hole,
          "row %d has %g", row, c[3].floats[row]);
  }
  gr_arena_destroy(arena);
}

// A cell of JSON lines takes its text, in pieces of 16 bytes, beside what one of CSV takes.
static void json_takes_its_texts(void) {
  enum { ROWS = 20000, CELLS = 4 * ROWS, EACH = 60 };
  gr_arena *arena = gr_arena_create();
  gr_text text = gr_text_make(arena);
  const char *path = fixture_path("t.jsonl");
  gr_csv t;
  for (int row = 0; row < ROWS; row++)
    gr_text_put(&text, "{\"a\":1,\"b\":2,\"c\":3,\"d\":\"x\"}\n");
  fixture_text(path, text.chars);
  size_t before = gr_arena_bytes(arena);
  MUST(gr_csv_read(arena, path, &named, &t));
  CHECK(t.rows == ROWS && t.columns[2].ints[ROWS - 1] == 3, "%u rows", t.rows);
  CHECK(gr_arena_bytes(arena) - before < (size_t)EACH * CELLS, "%zu bytes",
        gr_arena_bytes(arena) - before);
  gr_arena_destroy(arena);
}

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
      gr_status s = gr_csv_read(arena, path, &unnamed, &t);
      CHECK(s ? gr_status_loc(s).line > 0 : t.rows > 0 && t.n_columns > 0, "'%s'", text);
      for (uint32_t row = 0; !s && row < t.rows; row++)
        CHECK(t.lines[row] > 0 && t.lines[row] <= length + 1, "'%s': line %d", text, t.lines[row]);
      gr_status_drop(s);
      gr_arena_destroy(arena);
    }
}

int main(int argc, char **argv) {
  return RUN(
      argc, argv, {"reads_columns", reads_columns}, {"reads_without_header", reads_without_header},
      {"skips_files_without_rows", skips_files_without_rows},
      {"finds_wrong_delimiters", finds_wrong_delimiters},
      {"refuses_what_is_no_text", refuses_what_is_no_text},
      {"finds_rows_for_names", finds_rows_for_names},
      {"counts_numbers_among_text", counts_numbers_among_text},
      {"knows_missing_cells", knows_missing_cells}, {"knows_true_and_false", knows_true_and_false},
      {"numbers_are_those_of_c", numbers_are_those_of_c},
      {"types_of_long_columns", types_of_long_columns},
      {"json_takes_its_texts", json_takes_its_texts}, {"survives_any_text", survives_any_text},
      {"refuses_bad_tables", refuses_bad_tables});
}
