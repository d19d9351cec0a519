// test_vocab.c - symbols, text rules, there and back.
#include "runtime/data/vocab.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;

static const char *there_and_back(const gr_vocab *v, const char *text) {
  int32_t *ids, n;
  const char *bad;
  gr_text out = gr_text_make(arena);
  gr_vocab_encode(arena, v, text, true, &ids, &n, &bad);
  gr_vocab_decode(v, ids, (size_t)n, &out);
  return out.chars;
}

static void from_text(void) {
  gr_vocab v;
  MUST(gr_vocab_make(arena, "AB '\xc3\xa4", -1, &v));
  CHECK(v.n == 6 && v.blank == 5, "%d symbols, blank %d", v.n, v.blank);
  CHECK(!strcmp(there_and_back(&v, "A B'\xc3\xa4"), "A B'\xc3\xa4"), "every symbol, the space too");
  MUST(gr_vocab_make(arena, "AB", 0, &v));
  CHECK(v.blank == 0 && !strcmp(v.symbols[1], "A") && !strcmp(v.symbols[2], "B"), "blank first");
  fixture_fails(gr_vocab_make(arena, "ABA", -1, &v), GR_ERR_CONFIG, 0, "'A' twice");
  fixture_fails(gr_vocab_make(arena, "", -1, &v), GR_ERR_CONFIG, 0, "no symbols");
  fixture_fails(gr_vocab_make(arena, "AB", 3, &v), GR_ERR_CONFIG, 0, "symbol 3 of 3");
  fixture_fails(gr_vocab_make(arena, "A\xff", -1, &v), GR_ERR_CONFIG, 0, "not UTF-8");
}

static void from_a_file(void) {
  gr_vocab v;
  const char *path = fixture_path("vocab.txt");
  fixture_text(path, "A\r\nB\n \n<blank>\nSH\nS\nH");
  MUST(gr_vocab_read(arena, path, -1, &v));
  CHECK(v.n == 7 && v.blank == 3 && !strcmp(v.symbols[2], " "), "%d, %d", v.n, v.blank);
  int32_t *ids, n;
  const char *bad;
  gr_vocab_encode(arena, &v, "SHS AH", false, &ids, &n, &bad);
  static const int32_t want[] = {4, 5, 2, 0, 6};
  CHECK(!bad && n == 5 && !memcmp(ids, want, sizeof want), "the longest symbol first: %d", n);
  fixture_text(path, "A\n<space>\n");
  MUST(gr_vocab_read(arena, path, 1, &v));
  CHECK(v.n == 3 && v.blank == 1 && !strcmp(v.symbols[2], " "), "<space>");
  fixture_text(path, "A\n\nB\n");
  fixture_fails(gr_vocab_read(arena, path, -1, &v), GR_ERR_CONFIG, 2, "an empty line");
  fixture_text(path, "A\nB\nA\n");
  fixture_fails(gr_vocab_read(arena, path, -1, &v), GR_ERR_CONFIG, 3, "already on line 1");
  fixture_text(path, "A\n\xc3\n");
  fixture_fails(gr_vocab_read(arena, path, -1, &v), GR_ERR_CONFIG, 2, "not UTF-8");
  fixture_text(path, "A\n<blank>\n");
  fixture_fails(gr_vocab_read(arena, path, 0, &v), GR_ERR_CONFIG, 0, "symbol 1, not 0");
  fixture_fails(gr_vocab_read(arena, fixture_path("no.txt"), -1, &v), GR_ERR_DATA, 0, "no.txt");
}

static void unknown_symbols(void) {
  gr_vocab v;
  int32_t *ids, n;
  const char *bad, *text =
                       "AB\xc3\xa4"
                       "A*";
  MUST(gr_vocab_make(arena, "AB", -1, &v));
  gr_vocab_encode(arena, &v, text, false, &ids, &n, &bad);
  CHECK(bad == text + 2 && n == 2, "stops at the first");
  CHECK(!strcmp(there_and_back(&v, text), "ABA"), "left out: %s", there_and_back(&v, text));
  gr_vocab_encode(arena, &v, "<blank>", true, &ids, &n, &bad);
  CHECK(n == 0, "the blank cannot be written");
  static const int32_t odd[] = {0, 2, 7, -1};
  gr_text out = gr_text_make(arena);
  gr_vocab_decode(&v, odd, 4, &out);
  CHECK(!strcmp(out.chars, "A\xef\xbf\xbd\xef\xbf\xbd"), "blank gone, wild ids shown: %s",
        out.chars);
}

static void text_rules(void) {
  static const struct {
    gr_text_rules rules;
    const char *text, *expected;
  } cases[] = {
      {{GR_LETTERS_UPPER, "-/", ".,!?", GR_UNKNOWN_FAIL},
       "  Hello,\tworld-wide  web! ",
       "HELLO WORLD WIDE WEB"},
      {{GR_LETTERS_LOWER, NULL, NULL, GR_UNKNOWN_FAIL}, "\xc3\x84 \xce\xa9", "\xc3\xa4 \xcf\x89"},
      {{GR_LETTERS_UPPER, NULL, NULL, GR_UNKNOWN_FAIL},
       "stra\xc3\x9f"
       "e \xc5\x9f",
       "STRA\xc3\x9f"
       "E \xc5\x9e"},
      {{GR_LETTERS_KEEP, NULL, "\xe2\x80\x9c", GR_UNKNOWN_FAIL}, "\xe2\x80\x9cx\xc2\xa0y", "x y"},
      {{GR_LETTERS_UPPER, NULL, "...", GR_UNKNOWN_FAIL}, "... ", ""},
      {{GR_LETTERS_UPPER, NULL, NULL, GR_UNKNOWN_FAIL},
       "a\xff"
       "b",
       "A\xff"
       "B"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *got = gr_text_normalise(arena, &cases[i].rules, cases[i].text);
    CHECK(!strcmp(got, cases[i].expected), "'%s' gives '%s', not '%s'", cases[i].text, got,
          cases[i].expected);
  }
}

// A path is no list of symbols; the error is at the setting that contains it.
static void paths_are_not_symbols(void) {
  static const char *const paths[] = {"vocab/chars.txt", "none.lst", "./abc",
                                      "../xy",           "/abc",     "a/ba"};
  static const char *const symbols[] = {"abc.", "ab/c", "-.,/", "ab.C", "a .bc", "a.bcdefgh"};
  gr_vocab v;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    gr_status s = gr_vocab_make(arena, paths[i], -1, &v);
    CHECK(s && !strcmp(gr_status_about(s), "vocab") && gr_status_hint(s), "%s", paths[i]);
    fixture_fails(s, GR_ERR_DATA, 0, "there is no vocabulary file '");
  }
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    MUST(gr_vocab_make(arena, symbols[i], -1, &v));
  gr_status s = gr_vocab_make(arena, "AB", 3, &v);
  CHECK(s && !strcmp(gr_status_about(s), "blank"), "the blank's own setting");
  gr_status_drop(s);
}

static void rules_give_a_symbol_or_not(void) {
  const gr_text_rules rules = {GR_LETTERS_UPPER, "-/", ".,", GR_UNKNOWN_FAIL};
  static const char *const gives[] = {"A", " ", "'", "AB", "A B", "\xc3\x84", "7"};
  static const char *const never[] = {"a", "-", ".", "A-", "A  B", "\t", "\xc3\xa4", "\xc2\xa0"};
  for (size_t i = 0; i < sizeof gives / sizeof *gives; i++)
    CHECK(gr_text_gives(&rules, gives[i]), "'%s' can occur", gives[i]);
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    CHECK(!gr_text_gives(&rules, never[i]), "'%s' cannot occur", never[i]);
  const gr_text_rules none = {GR_LETTERS_KEEP, NULL, NULL, GR_UNKNOWN_FAIL};
  CHECK(gr_text_gives(&none, "a-.") && !gr_text_gives(&none, "a  b"), "blanks are always joined");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad = RUN(argc, argv, {"from_text", from_text}, {"from_a_file", from_a_file},
                {"unknown_symbols", unknown_symbols}, {"text_rules", text_rules},
                {"paths_are_not_symbols", paths_are_not_symbols},
                {"rules_give_a_symbol_or_not", rules_give_a_symbol_or_not});
  gr_arena_destroy(arena);
  return bad;
}
