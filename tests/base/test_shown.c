// test_shown.c - quantities, results and names as people read them.
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "tests/check.h"

static void quantities(void) {
  static const struct {
    double x;
    const char *bytes, *flops;
  } cases[] = {{0, "0 B", "0 FLOP"},
               {999, "999 B", "999 FLOP"},
               {1000, "1.0 kB", "1.0 kFLOP"},
               {12345678, "12.3 MB", "12.3 MFLOP"},
               {2.5e12, "2.5 TB", "2.5 TFLOP"},
               {2.5e15, "2500.0 TB", "2.5 PFLOP"}};
  char buf[GR_QUANTITY];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(!strcmp(gr_bytes_text(cases[i].x, buf), cases[i].bytes), "%s", buf);
    CHECK(!strcmp(gr_flops_text(cases[i].x, buf), cases[i].flops), "%s", buf);
  }
}

static void results(void) {
  static const struct {
    double x;
    const char *text;
  } cases[] = {{0.25, "0.2500"},    {-3, "-3.0000"},   {1e11, "100000000000.0000"}, {1e30, "1e+30"},
               {-1e300, "-1e+300"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
  char buf[GR_QUANTITY];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK(!strcmp(gr_result_text(cases[i].x, buf), cases[i].text), "%s", buf);
  CHECK(!strcmp(gr_result_text(-NAN, buf), "nan"), "%s", buf);
}

static void names(void) {
  gr_arena *a = gr_arena_create();
  const char *plain = "Länge in cm";
  CHECK(gr_name_shown(a, plain) == plain, "a name without control characters is as it is");
  CHECK(!strcmp(gr_name_shown(a, "two\nlines"), "two\\x0alines"), "%s",
        gr_name_shown(a, "two\nlines"));
  CHECK(!strcmp(gr_name_shown(a, "\x1b[2J"), "\\x1b[2J"), "%s", gr_name_shown(a, "\x1b[2J"));
  CHECK(!*gr_name_shown(a, ""), "an empty name");
  gr_arena_destroy(a);
}

// Where ranks are many, none is cut off within its number.
static void numbers(void) {
  char list[128] = "";
  for (int n = 0; n < 100; n++) {
    gr_list_number(list, sizeof list, n, 100 + n);
    if (n == 0) CHECK(!strcmp(list, "100"), "'%s'", list);
    if (n == 2) CHECK(!strcmp(list, "100, 101, 102"), "'%s'", list);
  }
  CHECK(!strcmp(list, "100, 101, 102, 103, 104, 105, 106, 107, ..."), "'%s'", list);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"quantities", quantities}, {"results", results}, {"names", names},
             {"numbers", numbers});
}
