// test_table_kinds.c - tables in text that is not CSV: ARFF, .ts and JSON lines.
#include "runtime/data/csv.h"
#include "tests/runtime/data/fixture.h"

static gr_status read_table(gr_arena *a, const char *name, const char *text, gr_csv *out) {
  const char *path = fixture_path("%s", name);
  fixture_text(path, text);
  return gr_csv_read(a, path, &gr_csv_any, out);
}

// All cells of a table, with their line: "2: 1|a; ".
static const char *cells(gr_arena *a, const gr_csv *t) {
  gr_text all = gr_text_make(a);
  for (int c = 0; c < t->n_columns; c++) gr_text_printf(&all, "%s ", t->columns[c].name);
  for (uint32_t row = 0; row < t->rows; row++) {
    gr_text_printf(&all, "%s%d: ", row ? "; " : "", t->lines[row]);
    for (int c = 0; c < t->n_columns; c++) {
      gr_array column = gr_csv_array(t, c);
      gr_text_printf(&all, "%s%s", c ? "|" : "",
                     gr_csv_missing(t, row, c) ? "-" : gr_array_text(a, &column, row));
    }
  }
  return all.chars;
}

static void reads(const char *name, const char *text, const char *expected) {
  gr_arena *a = gr_arena_create();
  gr_csv t;
  MUST(read_table(a, name, text, &t));
  const char *found = cells(a, &t);
  CHECK(!strcmp(found, expected), "%s: '%s', not '%s'", name, found, expected);
  gr_arena_destroy(a);
}

static void reads_arff(void) {
  reads("a.arff",
        "% a comment\n@RELATION 'two words'\n\n@attribute 'the width' NUMERIC\n"
        "@attribute\tkind {red, 'light blue'}\r\n@ATTRIBUTE note string\n@attribute day date "
        "\"yyyy-MM-dd\"\n@DATA\n 1.5, red, 'it\\'s, well', \"2020-01-02\"\n% another\n"
        "?,'light blue', ? ,? \n",
        "the width kind note day 9: 1.5|red|it's, well|2020-01-02; 11: -|light blue|-|-");
  reads("b.arff", "@relation r\n@attribute x{1,2}\n@data\n2", "x 4: 2");
}

static void reads_ts(void) {
  reads("a.ts",
        "#comment\n@problemName P\n@timeStamps false\n@univariate true\n@equalLength false\n"
        "@classLabel true one two\n@data\n1,?,3.5:two\n\n4 , NaN:one\n",
        "series dim_0 class 8: 1|1|two; 8: 1|-|two; 8: 1|3.5|two; 10: 2|4|one; 10: 2|-|one");
  reads("b.ts", "@dimensions 2\n@seriesLength 2\n@targetLabel true\n@data\n1,2:3,4:0.5\n",
        "series dim_0 dim_1 target 5: 1|1|3|0.5; 5: 1|2|4|0.5");
  reads("c.ts", "@classLabel false\n@data\n1,2:3,4\n", "series dim_0 dim_1 3: 1|1|3; 3: 1|2|4");
}

static void reads_json(void) {
  reads("a.jsonl",
        "{\"a\": 1, \"b\": \"x\"}\n{\"c\": true, \"a\": -2.50}\n{\"b\": [1, {\"k\": null}]}\n",
        "a b c 1: 1|x|-; 2: -2.5|-|1; 3: -|[1, {\"k\": null}]|-");
}

// The rows of both, with one numbering of series.
static void reads_several(void) {
  gr_arena *a = gr_arena_create();
  gr_csv t;
  const char *names[2] = {gr_arena_strdup(a, fixture_path("s1.ts")),
                          gr_arena_strdup(a, fixture_path("s2.ts"))};
  fixture_text(names[0], "@classLabel true a b\n@data\n1,2:a\n");
  fixture_text(names[1], "@classLabel true a b\n@data\n3:b\n");
  MUST(gr_csv_read_all(a, names, 2, &gr_csv_any, &t));
  const char *found = cells(a, &t);
  CHECK(!strcmp(found, "series dim_0 class 3: 1|1|a; 3: 1|2|a; 3: 2|3|b"), "%s", found);
  fixture_text(names[1], "@dimensions 2\n@data\n3:4\n");
  fixture_fails(gr_csv_read_all(a, names, 2, &gr_csv_any, &t), GR_ERR_DATA, 1,
                "the column 3 is 'dim_1', and 'class'");
  fixture_text(names[1], "@data\n3\n");
  fixture_fails(gr_csv_read_all(a, names, 2, &gr_csv_any, &t), GR_ERR_DATA, 1, "has 2 fields");
  gr_arena_destroy(a);
}

static void refuses(void) {
  static const struct {
    const char *name, *text, *message;
    int line;
  } cases[] = {
      {"r.arff", "", "no line @data", 1},
      {"r.arff", "@relation r\n@data\n", "expected @relation, @attribute", 2},
      {"r.arff", "@attribute x numeric\n@data\n", "no rows", 2},
      {"r.arff", "@attribute x number\n", "type 'number' is not read", 1},
      {"r.arff", "@attribute x relational\n", "type 'relational' is not read", 1},
      {"r.arff", "@attribute\n", "has no name", 1},
      {"r.arff", "1,2\n", "expected @relation", 1},
      {"r.arff", "@attribute x real\n@data\n{0 1}\n", "sparse rows", 3},
      {"r.arff", "@attribute x real\n@data\n1,2\n", "has 2 fields", 3},
      {"r.arff", "@attribute x string\n@data\n'b\n", "does not end", 3},
      {"r.arff", "@attribute x string\n@data\n'b'c\n", "after a value's closing quote", 3},
      {"r.arff", "@attribute x real\n@attribute x real\n@data\n1,2\n", "two columns", 3},
      {"r.arff", "@attribute x {a,'b c'}\n@data\na\nb c\n?\nb\n", "'b' is none of the values", 6},
      {"r.arff", "@attribute x {a, b\n@data\na\n", "does not end", 1},
      {"r.ts", "@classLabel true a 1\n@data\n1:a\n2:1.0\n3:?\n4:b\n", "the class 'b' is none", 6},
      {"r.ts", "", "no line @data", 1},
      {"r.ts", "1,2:a\n", "begins with '@'", 1},
      {"r.ts", "@data\n", "no series", 1},
      {"r.ts", "@timeStamps true\n", "time stamps", 1},
      {"r.ts", "@dimensions none\n", "whole number", 1},
      {"r.ts", "@data\n(0,1),(1,2)\n", "time stamps", 2},
      {"r.ts", "@univariate true\n@data\n1:2\n", "has 2 dimensions", 3},
      {"r.ts", "@dimensions 2\n@data\n1,2:3\n", "the dimension 1 has 1 value, and 2", 3},
      {"r.ts", "@equalLength true\n@data\n1,2\n1\n", "the dimension 0 has 1 value, and 2", 4},
      {"r.ts", "@seriesLength 3\n@data\n1,2\n", "has 2 values, and 3", 3},
      {"r.ts", "@classLabel true a b\n@data\n1,2\n", "no class or target", 3},
  };
  gr_arena *a = gr_arena_create();
  gr_csv t;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    fixture_fails(read_table(a, cases[i].name, cases[i].text, &t), GR_ERR_DATA, cases[i].line,
                  cases[i].message);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_arff", reads_arff}, {"reads_ts", reads_ts},
             {"reads_json", reads_json}, {"reads_several", reads_several}, {"refuses", refuses});
}
