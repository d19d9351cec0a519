// test_base.c - statuses, text, maps, JSON numbers, counter RNG.
#include <ctype.h>
#include <math.h>
#include <unistd.h>
#include "base/base.h"
#include "tests/check.h"

// The status as it is printed, which the caller frees.
static char *printed(gr_status s) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  gr_status_print(f, s);
  fclose(f);
  return text;
}

static void prints_source_line(void) {
  gr_source_add("<test>", "one\n  two: 2\nthree\n");
  gr_status s = gr_fail(GR_ERR_CONFIG, ((gr_loc){"<test>", 2, 3}), "no %s here", "two");
  s = gr_hint(gr_note(s, GR_NOWHERE, "while testing"), "use three");
  char *text = printed(s);
  const char *want =
      "<test>:2:3: config error: no two here\n    2 |   two: 2\n      |   ^\n"
      "  while testing\n  hint: use three\n";
  CHECK(!strcmp(text, want), "printed:\n%s", text);
  CHECK(gr_status_exit(s) == 65, "exit %d", gr_status_exit(s));
  gr_status_drop(s);
  free(text);
}

// A long line of bytes that no UTF-8 character starts with is cut like any other.
static void prints_lines_that_are_no_text(void) {
  char line[402];
  memset(line, 0x81, sizeof line - 2);
  strcpy(line + sizeof line - 2, "\n");
  gr_source_add("<bytes>", line);
  for (int col = 1; col < 600; col += 100) {
    gr_status s = gr_fail(GR_ERR_DATA, ((gr_loc){"<bytes>", 1, col}), "no text");
    char *text = printed(s);
    size_t n = strlen(text);
    CHECK(n > 60 && n < 4 * 400 + 2 * 700, "column %d: %zu bytes", col, n);
    gr_status_drop(s);
    free(text);
  }
}

// A library names the setting, and its caller looks up where it is set.
static void places_what_has_none(void) {
  gr_status s = gr_range("width", 9, 1, 8);
  CHECK(s && !strcmp(gr_status_about(s), "width"), "about %s", gr_status_about(s));
  CHECK(!strcmp(gr_status_text(s), "width must be from 1 to 8, but is 9"), "%s", gr_status_text(s));
  s = gr_also(s, gr_fail(GR_ERR_DATA, ((gr_loc){"b", 7, 8}), "elsewhere"));
  s = gr_place(s, (gr_loc){"a", 2, 3});
  CHECK(gr_status_loc(s).line == 2 && gr_status_loc(s).col == 3, "placed");
  char *text = printed(s);
  CHECK(strstr(text, "b:7:8: data error: elsewhere"), "a place of its own stays: %s", text);
  free(text);
  gr_status_drop(s);
  MUST(gr_range("width", 1, 1, 8));
  MUST(gr_range("width", 8, 1, 8));
  MUST(gr_about(gr_place(GR_OK, GR_NOWHERE), "width"));
  s = gr_place(gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal"), (gr_loc){"a", 2, 3});
  CHECK(!gr_status_loc(s).file, "a signal has no place in a file");
  gr_status_drop(s);
}

// A status outlives whatever named its place: the strings given are overwritten and freed.
static void owns_its_strings(void) {
  char *file = strdup("prices.csv"), *about = strdup("market.path"), *word = strdup("AAPL");
  char *later = strdup("config.yaml"), *source = strdup("<argument>"), *line = strdup("lr=one\n");
  gr_status s = gr_fail(GR_ERR_DATA, ((gr_loc){file, 3, 1}), "no price of %s", word);
  s = gr_about(gr_hint(gr_note(s, (gr_loc){file, 1, 1}, "of %s", word), "add %s", word), about);
  s = gr_also(s, gr_place(gr_fail(GR_ERR_DATA, GR_NOWHERE, "none"), (gr_loc){later, 4, 2}));
  gr_source_add(source, line);
  s = gr_also(s, gr_fail(GR_ERR_CONFIG, ((gr_loc){source, 1, 4}), "no number"));
  char *given[] = {file, about, word, later, source, line};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    memset(given[i], '#', strlen(given[i])), free(given[i]);
  char *text = printed(s);
  CHECK(!strcmp(text,
                "prices.csv:3:1: data error: no price of AAPL\n  prices.csv:1:1: of AAPL\n"
                "  hint: add AAPL\nconfig.yaml:4:2: data error: none\n<argument>:1:4: config "
                "error: no number\n    1 | lr=one\n      |    ^\n"),
        "printed:\n%s", text);
  CHECK(!strcmp(gr_status_about(s), "market.path"), "about %s", gr_status_about(s));
  free(text);
  gr_status_drop(s);
}

static void joins_at_most_twenty(void) {
  gr_status s = GR_OK;
  for (int i = 0; i < 30; i++) s = gr_also(s, gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "error %d", i));
  CHECK(gr_status_count(s) == 20, "%d errors", gr_status_count(s));
  CHECK(!strcmp(gr_status_text(s), "error 0"), "first is %s", gr_status_text(s));
  gr_status_drop(s);
}

static void long_messages_are_cut(void) {
  char big[5000];
  memset(big, 'x', sizeof big);
  big[sizeof big - 1] = 0;
  gr_status s = gr_fail(GR_ERR_IO, GR_NOWHERE, "%s", big);
  s = gr_hint(gr_note(s, GR_NOWHERE, "%s", big), "%s", big);
  CHECK(strlen(gr_status_text(s)) < 3000, "%zu", strlen(gr_status_text(s)));
  CHECK(!strcmp(strrchr(gr_status_text(s), 'x'), "x..."), "an end that does not show it");
  gr_status_drop(s);
  big[1900] = 0;  // a hint that names a node, with its file's path
  s = gr_hint(gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "no"), "%s", big), "then this");
  char *shown = printed(s);
  CHECK(strstr(shown, "x; then this"), "%s", shown);
  free(shown);
  gr_status_drop(s);
}

static void guesses_what_was_meant(void) {
  static const char *const names[] = {"batch_size", "max_epochs", "seed"};
  CHECK(!strcmp(gr_text_nearest("batchsize", names, 3), "batch_size"), "batchsize");
  CHECK(!strcmp(gr_text_nearest("sede", names, 3), "seed"), "swap of neighbours");
  CHECK(!gr_text_nearest("optimizer", names, 3), "nothing is near optimizer");
  static const char *const ops[] = {"log", "ctc_loss", "training.betas", "training.lr"};
  CHECK(!gr_text_nearest("pow", ops, 4), "two of three letters");
  CHECK(!gr_text_nearest("mse_loss", ops, 4), "three of eight");
  CHECK(!gr_text_nearest("training.device", ops, 4), "the section is no likeness");
  CHECK(gr_text_nearest("trainig.lr", ops, 4) == ops[3], "a section misspelt");
  CHECK(gr_text_distance("kitten", "sitting", 9) == 3, "kitten");
  CHECK(gr_text_distance("ab", "ba", 9) == 1, "transposition");
}

static void map_keeps_order(void) {
  gr_arena *a = gr_arena_create();
  gr_map m = gr_map_make(a);
  for (uint32_t i = 0; i < 1000; i++)
    (i % 2 ? gr_map_put : gr_map_add)(&m, gr_arena_printf(a, "key%u", i), i);
  gr_map_put(&m, "key7", 70);
  gr_map_add(&m, "key7", 71);
  uint32_t v = 0;
  CHECK(m.n == 1000, "%u keys", m.n);
  CHECK(gr_map_find(&m, "key7", &v) && v == 70, "key7 is %u", v);
  CHECK(gr_map_find(&m, "key999", &v) && v == 999, "key999 is %u", v);
  CHECK(!gr_map_find(&m, "key1000", NULL), "key1000 is not there");
  for (uint32_t i = 0; i < 1000; i++) CHECK(atoi(m.keys[i] + 3) == (int)i, "order at %u", i);
  gr_arena_destroy(a);
}

// A manifest must not be able to do to a terminal what a program can.
static void control_characters_are_visible(void) {
  static const struct {
    const char *text, *shown;
  } cases[] = {
      {"plain \xc3\xa9 \xe2\x82\xac\ttab", "plain \xc3\xa9 \xe2\x82\xac\ttab"},
      {"\x1b[31mred\x1b]0;title\a", "\\x1b[31mred\\x1b]0;title\\x07"},
      {"a\rb\bc\x7f", "a\\x0db\\x08c\\x7f"},
      {"\xc2\x9b"
       "2J\xc2\x85",
       "\\u009b2J\\u0085"},
      {"\xe2\x80\xae"
       "evil\xe2\x81\xa9",
       "\\u202eevil\\u2069"},
      {"bad \xff\xc3", "bad \\xff\\xc3"},
      {"two\nlines", "two\\x0alines"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *got = NULL;
    size_t n;
    FILE *f = open_memstream(&got, &n);
    gr_print_line(f, cases[i].text, strlen(cases[i].text));
    fclose(f);
    CHECK(!strcmp(got, cases[i].shown), "'%s', not '%s'", got, cases[i].shown);
    free(got);
  }
  char *got = NULL;
  size_t n;
  FILE *f = open_memstream(&got, &n);
  gr_print_lines(f, "\x1b[1m\n\ntwo\n");
  fclose(f);
  CHECK(!strcmp(got, "\\x1b[1m\n\ntwo\n"), "%s", got);
  free(got);
}

// In the message, the source line, notes and hint; and the caret stays below its character.
static void errors_show_control_characters(void) {
  gr_source_add("<evil>", "ab\x1b[2J\xc3\xa9 here\n");
  gr_status s = gr_fail(GR_ERR_DATA, ((gr_loc){"<evil>", 1, 8}), "found '\x1b[31m\n'");
  s = gr_hint(gr_note(s, GR_NOWHERE, "in \x1b[0m"), "not \a");
  char *text = printed(s);
  const char *want =
      "<evil>:1:8: data error: found '\\x1b[31m\\x0a'\n    1 | ab\\x1b[2J\xc3\xa9 here\n"
      "      |           ^\n  in \\x1b[0m\n  hint: not \\x07\n";
  CHECK(!strcmp(text, want), "printed:\n%s", text);
  gr_status_drop(s);
  free(text);
}

static void log_lines_show_control_characters(void) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  gr_log_copy_to(f);
  gr_log(GR_WARN, "said \x1b[31m%s", "a\nwarning: forged");
  gr_log_copy_to(NULL);
  fclose(f);
  CHECK(!strcmp(text, "warning: said \\x1b[31ma\\x0awarning: forged\n"), "%s", text);
  free(text);
}

static void json_text(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_text_json(&t, "a\"b\\c\n\x01 \xc3\xa9 \xff");
  CHECK(!strcmp(t.chars, "\"a\\\"b\\\\c\\n\\u0001 \xc3\xa9 \xef\xbf\xbd\""), "%s", t.chars);
  gr_arena_destroy(a);
}

// Against Python's repr.
static void floats(void) {
  static const struct {
    double x;
    const char *text;
  } cases[] = {{1, "1.0"},
               {0.1, "0.1"},
               {1e-5, "1e-05"},
               {1e-4, "0.0001"},
               {1e16, "1e+16"},
               {123456789012345680, "1.2345678901234568e+17"},
               {1e15, "1000000000000000.0"},
               {-0.0, "-0.0"},
               {3.141592653589793, "3.141592653589793"},
               {INFINITY, "Infinity"},
               {5e-324, "5e-324"},
               {2e-3, "0.002"},
               {100, "100.0"}};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_text t = gr_text_make(a);
    gr_text_put_float(&t, cases[i].x);
    CHECK(!strcmp(t.chars, cases[i].text), "%s, not %s", t.chars, cases[i].text);
  }
  gr_arena_destroy(a);
}

// Short decimals are written without printf: the shortest of printf's that reads back has the same
// digits, whatever the exponent. Numbers of 16 and 17 digits are beside them.
static void short_decimals(void) {
  gr_arena *a = gr_arena_create();
  uint64_t seed = 7;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    char want[40], got[40];
    int digits = (int)(seed >> 33) % 17 + 1, n = 1;
    snprintf(want, sizeof want, "%.*e", digits - 1,
             (double)(seed >> 11) * pow(10, (int)(seed >> 50) % 40 - 35));
    double x = strtod(want, NULL) * (seed & 1024 ? 1 : -1);
    do snprintf(want, sizeof want, "%.*e", n - 1, x);
    while (strtod(want, NULL) != x && ++n <= 17);
    gr_text t = gr_text_make(a);
    gr_text_put_float(&t, x);
    snprintf(got, sizeof got, "%.*e", n - 1, strtod(t.chars, NULL));
    int written = 0;  // digits, without zeros in front and behind
    for (const char *p = t.chars; *p && *p != 'e'; p++)
      if (isdigit((unsigned char)*p) && (written || *p != '0')) written++;
    for (const char *p = strcspn(t.chars, "e") + t.chars; p > t.chars && strchr("0.", p[-1]); p--)
      written -= p[-1] == '0';
    CHECK(strtod(t.chars, NULL) == x && !strcmp(want, got), "%s, not %s", t.chars, want);
    CHECK(written <= n && strpbrk(t.chars, ".e"), "%s has %d digits, not %d", t.chars, written, n);
  }
  gr_arena_destroy(a);
}

static void whole_numbers(void) {
  static const int64_t more[] = {INT64_MIN, INT64_MAX, 0, -1, -10};
  int64_t n = 1;
  for (int i = 0; i < 70; i++) {
    int64_t x = i < 5 ? more[i] : n - i % 3;
    char want[32], got[GR_DIGITS];
    int len = snprintf(want, sizeof want, "%lld", (long long)x);
    CHECK(gr_put_int(got, x) == got + len && !strcmp(got, want), "%s, not %s", got, want);
    if (i % 3 == 2 && n < INT64_MAX / 10) n *= 10;
  }
}

static void directories(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/graphrun-base-%d/a/b", (int)getpid());
  MUST(gr_make_dirs(path));
  CHECK(gr_is_dir(path), "%s", path);
  gr_status s = gr_make_dirs("/dev/null/x");
  CHECK(gr_status_code(s) == GR_ERR_IO, "a file is no directory");
  gr_status_drop(s);
  for (int i = 0; i < 3; i++) {
    CHECK(!rmdir(path), "rmdir %s", path);
    *strrchr(path, '/') = 0;
  }
}

static void finds_the_dead_rank(void) {
  const struct {
    const char *text;
    int rank;
  } cases[] = {{"rank 3 died: its process 7 is gone", 3},
               {"rank 1 has failed: rank 12 died: its connection was closed", 12},
               {"rank 3 has failed before", -1},
               {"rank x died: no number", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_status s = gr_fail(GR_ERR_RANK, GR_NOWHERE, "%s", cases[i].text);
    CHECK(gr_status_dead_rank(s) == cases[i].rank, "%s: %d", cases[i].text, gr_status_dead_rank(s));
    gr_status_drop(s);
  }
  CHECK(gr_status_dead_rank(GR_OK) == -1, "no error");
}

// What an arena gets is zero, also where another has written before; another thread may take it.
static void kept_blocks(void) {
  enum { BYTES = 3 << 20 };
  gr_arena_keep_blocks(8 << 20);
  for (int round = 0; round < 3; round++) {
    gr_arena *a = gr_arena_create();
    for (size_t done = 0, size = 8; done < BYTES; done += size, size = size * 3 / 2 % 2500000 + 8) {
      char *p = gr_arena_alloc(a, size);
      for (size_t i = 0; i < size; i++)
        if (p[i]) CHECK(false, "byte %zu of %zu in round %d", i, size, round);
      memset(p, 0xa5, size);
    }
    gr_arena_destroy(a);
  }
  gr_arena_keep_blocks(0);
  CHECK(true, "-");
}

// What an object has outgrown does not stay, once it is large: only its room doubles.
static void resized_objects(void) {
  enum { FROM = 1 << 10, TO = 1 << 28, LARGE = 1 << 26 };
  gr_arena *a = gr_arena_create();
  char *p = gr_arena_resize(a, NULL, 0, FROM);
  memset(p, 'a', FROM);
  char *other = gr_arena_strdup(a, "other");
  for (size_t bytes = 2 * FROM; bytes <= TO; bytes *= 2) {
    p = gr_arena_resize(a, p, FROM, bytes);
    CHECK(p[0] == 'a' && p[FROM - 1] == 'a', "what was written, in %zu bytes", bytes);
    p[bytes - 1] = 'z';
    memset(gr_arena_alloc(a, 100), 'b', 100);
  }
  CHECK(!strcmp(other, "other") && p[TO - 1] == 'z' && p[FROM - 1] == 'a', "objects are apart");
  CHECK(gr_arena_bytes(a) < TO + LARGE + LARGE / 2, "%zu bytes", gr_arena_bytes(a));
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"finds_the_dead_rank", finds_the_dead_rank},
             {"prints_source_line", prints_source_line},
             {"prints_lines_that_are_no_text", prints_lines_that_are_no_text},
             {"control_characters_are_visible", control_characters_are_visible},
             {"errors_show_control_characters", errors_show_control_characters},
             {"log_lines_show_control_characters", log_lines_show_control_characters},
             {"places_what_has_none", places_what_has_none}, {"owns_its_strings", owns_its_strings},
             {"joins_at_most_twenty", joins_at_most_twenty},
             {"long_messages_are_cut", long_messages_are_cut},
             {"guesses_what_was_meant", guesses_what_was_meant},
             {"map_keeps_order", map_keeps_order}, {"json_text", json_text}, {"floats", floats},
             {"short_decimals", short_decimals}, {"whole_numbers", whole_numbers},
             {"directories", directories}, {"resized_objects", resized_objects},
             {"kept_blocks", kept_blocks});
}
