// test_json.c - the strict reader of JSON: what it takes, what it refuses and where.
#include <math.h>
#include "base/json.h"
#include "base/text.h"
#include "tests/check.h"

static const gr_json *read_text(gr_arena *a, const char *text, gr_json_error *why) {
  const gr_json *out;
  return gr_json_read(a, text, strlen(text), &out, why) ? out : NULL;
}

static void values(void) {
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  const gr_json *v = read_text(
      a,
      " {\"i\": -9223372036854775808, \"f\": 0.1, \"big\": 9223372036854775808, \"e\": 1e3,\n"
      "\"t\": \"\\u00e9\\ud83d\\ude00\\n\\/\", \"n\": null, \"b\": true, \"nan\": NaN,\r\n"
      "\"inf\": -Infinity, \"l\": [1, [], {}, \"x\"]} ",
      &why);
  CHECK(v && v->kind == GR_JSON_OBJECT && v->n == 10, "not read");
  CHECK(gr_json_get(v, "i", GR_JSON_INT)->i == INT64_MIN, "the least integer");
  CHECK(gr_json_get(v, "f", GR_JSON_FLOAT)->f == 0.1, "0.1");
  CHECK(gr_json_get(v, "big", GR_JSON_FLOAT)->f == 9223372036854775808.0, "2^63");
  CHECK(!gr_json_get(v, "e", GR_JSON_INT) && gr_json_get(v, "e", GR_JSON_FLOAT)->f == 1000, "1e3");
  CHECK(!strcmp(gr_json_get(v, "t", GR_JSON_TEXT)->text, "\xc3\xa9\xf0\x9f\x98\x80\n/"), "text");
  CHECK(gr_json_get(v, "b", GR_JSON_BOOL)->i == 1, "true");
  CHECK(isnan(gr_json_get(v, "nan", GR_JSON_FLOAT)->f), "NaN");
  CHECK(gr_json_get(v, "inf", GR_JSON_FLOAT)->f == -(double)INFINITY, "-Infinity");
  const gr_json *l = gr_json_get(v, "l", GR_JSON_ARRAY);
  CHECK(l && l->n == 4 && l->first->next->kind == GR_JSON_ARRAY, "list");
  CHECK(gr_json_get(v, "i", GR_JSON_FLOAT)->f < -9e18, "an int is a float too");
  CHECK(!gr_json_get(v, "i", GR_JSON_TEXT) && !gr_json_get(v, "x", GR_JSON_INT), "wrong kinds");
  CHECK(!gr_json_get(NULL, "x", GR_JSON_INT) && !gr_json_get(l, "x", GR_JSON_INT), "no object");
  gr_arena_destroy(a);
}

// What is not finite is a string in what is written, and a number again when it is read.
static void numbers(void) {
  static const struct {
    double x;
    const char *text;
  } rows[] = {{1, "1.0"},
              {(double)INFINITY, "\"Infinity\""},
              {-(double)INFINITY, "\"-Infinity\""},
              {(double)NAN, "\"NaN\""}};
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gr_text t = gr_text_make(a), rounded = gr_text_make(a);
    gr_text_json_float(&t, rows[i].x), gr_text_json_rounded(&rounded, rows[i].x, 3);
    CHECK(!strcmp(t.chars, rows[i].text), "%g is %s", rows[i].x, t.chars);
    CHECK(!strcmp(rounded.chars, i ? rows[i].text : "1"), "%g is rounded to %s", rows[i].x,
          rounded.chars);
    const gr_json *v = read_text(a, gr_arena_printf(a, "{\"x\": %s}", t.chars), &why);
    const gr_json *x = gr_json_get(v, "x", GR_JSON_FLOAT);
    CHECK(x && (x->f == rows[i].x || (isnan(x->f) && isnan(rows[i].x))), "%s is read otherwise",
          t.chars);
    CHECK(!gr_json_get(v, "x", GR_JSON_INT), "%s is an integer", t.chars);
  }
  const gr_json *v = read_text(a, "{\"x\": \"inf\", \"y\": \"Infinity \"}", &why);
  CHECK(!gr_json_get(v, "x", GR_JSON_FLOAT) && !gr_json_get(v, "y", GR_JSON_FLOAT), "other texts");
  gr_arena_destroy(a);
}

static const char *const bad[] = {"",
                                  " ",
                                  "{",
                                  "[",
                                  "[1",
                                  "[1,",
                                  "[1,]",
                                  "[,1]",
                                  "[1 2]",
                                  "{\"a\"}",
                                  "{\"a\":}",
                                  "{a: 1}",
                                  "{\"a\": 1,}",
                                  "{\"a\": 1 \"b\": 2}",
                                  "{\"a\": 1, \"a\": 2}",
                                  "01",
                                  "-",
                                  "+1",
                                  "1.",
                                  ".5",
                                  "1e",
                                  "1e+",
                                  "0x10",
                                  "1_0",
                                  "nan",
                                  "tru",
                                  "truee",
                                  "nulll",
                                  "\"",
                                  "\"a",
                                  "\"\\",
                                  "\"\\x\"",
                                  "\"\\u12\"",
                                  "\"\\u12g4\"",
                                  "\"\\ud800\"",
                                  "\"\\ud800\\u0041\"",
                                  "\"\\udc00\"",
                                  "\"\\u0000\"",
                                  "\"\x01\"",
                                  "\"\xff\"",
                                  "\"\xc3\"",
                                  "\"\xed\xa0\x80\"",
                                  "1 2",
                                  "[1]]",
                                  "{}{}",
                                  "'a'",
                                  "// a",
                                  "[1] x",
                                  "\"a\tb\"",
                                  "NaNN",
                                  "--Infinity",
                                  "[\"a\": 1]",
                                  "\xef\xbb\xbf{}"};

static void refused(void) {
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    gr_json_error why = {0};
    CHECK(!read_text(a, bad[i], &why), "taken: %s", bad[i]);
    CHECK(why.line == 1 && why.col >= 1 && why.why, "no place for: %s", bad[i]);
  }
  gr_arena_destroy(a);
}

static void places(void) {
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  CHECK(!read_text(a, "{\n \"a\": 1,\n  \"b\": ?}", &why), "taken");
  CHECK(why.line == 3 && why.col == 8, "%d:%d", why.line, why.col);
  gr_arena_destroy(a);
}

// Names are found to be repeated in objects of any size, the first and the last of them too.
static void wide_objects(void) {
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  static const int sizes[] = {2, 16, 17, 18, 100, 60000};
  char *wide = malloc(1000000);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    int n = sizes[k], again[] = {-1, 0, n / 2, n - 1};
    for (int j = 0; j < 4; j++) {
      size_t len = (size_t)sprintf(wide, "{");
      for (int i = 0; i < n; i++) len += (size_t)sprintf(wide + len, "\"%d\":%d,", i, i);
      sprintf(wide + len, "\"%d\":0}", again[j]);
      const gr_json *v = read_text(a, wide, &why);
      CHECK(!v == (again[j] >= 0), "%d members, then %d", n, again[j]);
      if (!v) continue;
      snprintf(wide, 20, "%d", n - 1);
      const gr_json *last = gr_json_get(v, wide, GR_JSON_INT);
      CHECK(last && last->i == n - 1, "the last of %d members", n);
    }
  }
  free(wide);
  gr_arena_destroy(a);
}

static void limits(void) {
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  char deep[100] = {0};
  memset(deep, '[', 32), memset(deep + 32, ']', 32);
  CHECK(read_text(a, deep, &why), "32 levels are too many");
  memset(deep, '[', 33), memset(deep + 33, ']', 33);
  CHECK(!read_text(a, deep, &why) && strstr(why.why, "nested"), "33 levels are taken");
  size_t many = 9000001;
  char *list = malloc(many + 1);
  for (size_t i = 0; i < many; i++) list[i] = i % 2 ? '1' : ',';
  list[0] = '[', list[many - 1] = ']', list[many] = 0;
  CHECK(!read_text(a, list, &why) && strstr(why.why, "4 million"), "%s", why.why);
  free(list);
  gr_arena_destroy(a);
}

// What is written is what was read, on one line.
static void written(void) {
  static const char *const texts[][2] = {
      {"{ \"a\" : [ 1 , -2.50, true ], \"b\":null }", "{\"a\": [1, -2.5, true], \"b\": null}"},
      {"\"<\\n\\u0001\\\"\"", "\"<\\n\\u0001\\\"\""},
      {"\"Infinity\"", "\"Infinity\""},
      {"[[], {}, \"\"]", "[[], {}, \"\"]"},
      {"1e300", "1e+300"}};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    gr_json_error why;
    gr_text t = gr_text_make(a);
    const gr_json *v = read_text(a, texts[i][0], &why);
    CHECK(v, "%s: %s", texts[i][0], why.why);
    if (v) gr_json_put(&t, v);
    CHECK(v && !strcmp(t.chars, texts[i][1]), "'%s' gives '%s'", texts[i][0], t.chars);
  }
  gr_arena_destroy(a);
}

// The vectors of RFC 4648, section 10.
static void base64(void) {
  static const char *const vectors[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    gr_text t = gr_text_make(a);
    gr_text_put(&t, "");
    gr_text_base64(&t, (const unsigned char *)vectors[i][0], strlen(vectors[i][0]));
    CHECK(!strcmp(t.chars, vectors[i][1]), "'%s' gives '%s'", vectors[i][0], t.chars);
  }
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"values", values}, {"numbers", numbers}, {"refused", refused},
             {"places", places}, {"wide_objects", wide_objects}, {"limits", limits},
             {"written", written}, {"base64", base64});
}
