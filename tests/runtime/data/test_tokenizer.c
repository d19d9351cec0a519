// test_tokenizer.c - byte-level BPE from both kinds of files, equal to what Hugging Face's
// tokenizers and tiktoken make of the same texts (tests/golden/tokenizer.py), and what is refused.
// A second argument is a folder in the place of that of the recorded texts.
#include "base/json.h"
#include "runtime/data/tokenizer/split.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;
static const char *folder = GR_GOLDEN "/tokenizer";

static gr_status open_by(const char *yaml, const gr_tokenizer **out) {
  gr_conf *conf;
  MUST(gr_conf_parse(arena, "run.yaml", yaml, &conf));
  return gr_tokenizer_read(arena, conf, out);
}

static const gr_tokenizer *opened(const char *file, const char *more) {
  const gr_tokenizer *t;
  MUST(open_by(gr_arena_printf(arena, "{tokenizer: %s%s}", file, more), &t));
  return t;
}

static gr_tokens tokens_of(const gr_tokenizer *t, const char *text) {
  gr_tokens out = {.arena = arena};
  const char *bad;
  MUST(gr_tokenizer_encode(t, text, &(gr_encode_options){.around = true}, &out, &bad));
  CHECK(!bad, "'%s' is not %s", text, t->lacks);
  return out;
}

static const char *text_of(const gr_tokenizer *t, const int32_t *ids, int64_t n) {
  gr_text out = gr_text_make(arena);
  gr_tokenizer_decode(t, ids, n, &out);
  return out.chars ? out.chars : "";
}

// ---- Recorded texts -----------------------------------------------------------------------------

static bool is_equal(const gr_tokens *got, const gr_json *wanted) {
  bool equal = got->n == wanted->n;
  int64_t i = 0;
  for (const gr_json *v = wanted->first; v && equal; v = v->next) equal = got->id[i++] == v->i;
  return equal;
}

static int64_t texts, differ[4];

static void check_row(const gr_tokenizer *const t[3], const gr_json *row) {
  const char *text = row->first->text;
  const gr_json *wanted = row->first->next;
  for (int i = 0; i < 3; i++, wanted = wanted->next) {
    gr_tokens got = tokens_of(t[i], text);
    differ[i] += !is_equal(&got, wanted);
    CHECK(is_equal(&got, wanted), "tokenizer %d, '%s': %d tokens, and %d recorded", i, text,
          (int)got.n, wanted->n);
    if (i) continue;
    const char *half = text_of(t[0], got.id, (got.n + 1) / 2);
    differ[3] += strcmp(half, wanted->next->next->next->text) != 0;
    CHECK(!strcmp(half, wanted->next->next->next->text), "'%s' is '%s'", half,
          wanted->next->next->next->text);
  }
  texts++;
}

static void equal_to_the_recorded(void) {
  char *text;
  size_t n;
  gr_json_error why;
  const gr_tokenizer *t[3] = {
      opened(gr_arena_printf(arena, "%s/words.json", folder), ""),
      opened(gr_arena_printf(arena, "%s/pieces.json", folder), ""),
      opened(gr_arena_printf(arena, "%s/ranks.tiktoken", folder),
             ", tokenizer_special: ['<|endoftext|>'], tokenizer_pattern: gpt2")};
  MUST(gr_file_read(arena, gr_arena_printf(arena, "%s/ids.jsonl", folder), 1 << 26, &text, &n));
  for (char *line = text, *end; *line; line = end + 1) {
    const gr_json *row;
    end = strchr(line, '\n');
    bool read = gr_json_read(arena, line, (size_t)(end - line), &row, &why);
    CHECK(read, "line %lld: %s", (long long)texts, why.why);
    if (read) check_row(t, row);
  }
  CHECK(texts > 50, "%lld texts", (long long)texts);
  printf("  %lld texts; other tokens in %lld, %lld and %lld, another text in %lld\n",
         (long long)texts, (long long)differ[0], (long long)differ[1], (long long)differ[2],
         (long long)differ[3]);
  for (int i = 0; i < 3; i++) gr_tokenizer_close(t[i]);
}

static void there_and_back(void) {
  const gr_tokenizer *t = opened(gr_arena_printf(arena, "%s/pieces.json", folder), "");
  const char *text = "na\xc3\xafve \xf0\x9f\x9a\x82 12";
  gr_tokens ids = tokens_of(t, text);
  CHECK(!strcmp(text_of(t, ids.id, ids.n), text), "'%s'", text_of(t, ids.id, ids.n));
  CHECK(ids.id[0] != ids.id[ids.n - 1] && ids.id[0] >= 700, "the template's tokens are around");
  const int32_t beyond[] = {t->n, -1};
  CHECK(!strcmp(text_of(t, beyond, 2), "\xef\xbf\xbd\xef\xbf\xbd"), "ids out of range");
  gr_tokenizer_close(t);
  t = opened(gr_arena_printf(arena, "%s/pieces.json", folder),
             ", tokenizer_template: ['$', '<|endoftext|>']");
  gr_tokens other = tokens_of(t, text);
  CHECK(other.n == ids.n - 1 && other.id[0] == ids.id[1] &&
            other.id[other.n - 1] == ids.id[ids.n - 1],
        "data.tokenizer_template is instead of the file's");
  gr_tokenizer_close(t);
}

// A word of a hundred thousand letters is one heap, and not all pairs again for each merge.
static void a_long_word(void) {
  enum { LETTERS = 100000 };
  const gr_tokenizer *t = opened(gr_arena_printf(arena, "%s/words.json", folder), "");
  char *text = gr_arena_alloc(arena, LETTERS + 1);
  for (int i = 0; i < LETTERS; i++) text[i] = "tehr"[i * 7 % 4];
  gr_tokens ids = tokens_of(t, text);
  const char *back = text_of(t, ids.id, ids.n);
  CHECK(*back == ' ' && !strcmp(back + 1, text), "the text comes back after its space");
  gr_tokenizer_close(t);
}

// ---- What is refused ----------------------------------------------------------------------------

static void refuses(const char *text, gr_code code, int line, const char *part) {
  const gr_tokenizer *t;
  const char *path = fixture_path("t.json");
  fixture_text(path, text);
  fixture_fails(open_by(gr_arena_printf(arena, "{tokenizer: %s}", path), &t), code, line, part);
}

#define MODEL(more) "{\"model\": {\"type\": \"BPE\"," more "},\n"
#define TWO "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}"

static void wrong_files(void) {
  refuses("{\n\"model\": {\"type\": \"WordPiece\"}}", GR_ERR_UNSUPPORTED, 2, "'WordPiece'");
  refuses("{\"model\": {\"type\": \"Unigram\"}}", GR_ERR_UNSUPPORTED, 1, "'Unigram'");
  refuses("{\"a\": 1}", GR_ERR_DATA, 1, "no \"model\"");
  refuses("{\"a\": 1", GR_ERR_DATA, 1, "expected ','");
  refuses(MODEL("\"merges\": []") "\"a\": 1}", GR_ERR_DATA, 1, "no \"vocab\"");
  refuses(MODEL(TWO) "\"a\": 1}", GR_ERR_DATA, 1, "no \"merges\"");
  refuses(MODEL(TWO ",\n\"merges\": [\"a b\", \"b a\"]") "\"a\": 1}", GR_ERR_DATA, 2,
          "needs the token 'ba', which the vocabulary lacks");
  refuses(MODEL(TWO ",\n\"merges\": [[\"a\"]]") "\"a\": 1}", GR_ERR_DATA, 2, "a merge is two");
  refuses(MODEL("\"vocab\": {\"a\": 0,\n \"b\": 0}, \"merges\": []") "\"a\": 1}", GR_ERR_DATA, 2,
          "two tokens have the number 0");
  refuses(MODEL("\"vocab\": {\"a\": 99999999}, \"merges\": []") "\"a\": 1}", GR_ERR_DATA, 1,
          "the token 'a' has no number from 0 to ");
  refuses(MODEL("\"byte_fallback\": true, " TWO) "\"a\": 1}", GR_ERR_UNSUPPORTED, 1, "characters");
  refuses(MODEL(TWO ", \"merges\": []") "\"pre_tokenizer\": null}", GR_ERR_UNSUPPORTED, 1,
          "not byte-level");
  refuses(MODEL(TWO ", \"merges\": []") "\"pre_tokenizer\": {\"type\": \"Metaspace\"}}",
          GR_ERR_UNSUPPORTED, 2, "pre-tokenizer of the tokenizer is of the kind 'Metaspace'");
  refuses(MODEL(TWO ", \"merges\": []") "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
                                        "{\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}}",
          GR_ERR_DATA, 2, "the pattern '(' is no regular expression");
  refuses(MODEL(TWO ", \"merges\": []") "\"normalizer\": {\"type\": \"Lowercase\"}}",
          GR_ERR_UNSUPPORTED, 2, "normalizer");
  refuses(MODEL(TWO ", \"merges\": []") "\"added_tokens\": [{\"id\": 1, \"content\": \"x\"}]}",
          GR_ERR_DATA, 2, "the added token 'x' has the number 1");
  refuses("YQ== 0\nYQ== 1\n", GR_ERR_DATA, 2, "on an earlier line");
  refuses("YQ== 0\nwhat is this\n", GR_ERR_DATA, 2, "a token in Base64 and its rank");
  refuses("YQ== 0\n", GR_ERR_DATA, 0, "no token for the byte 0x00");
}

static void wrong_keys(void) {
  const gr_tokenizer *t;
  const char *ranks = gr_arena_printf(arena, "{tokenizer: %s/ranks.tiktoken, ", folder);
  fixture_fails(open_by("{tokenizer_pattern: gpt2}", &t), GR_ERR_CONFIG, 1, "is not given");
  fixture_fails(open_by(gr_arena_printf(arena, "%stokenizer_pattern: '('}", ranks), &t),
                GR_ERR_DATA, 0, "no regular expression");
  fixture_fails(open_by(gr_arena_printf(arena, "%stokenizer_special: {a: 0}}", ranks), &t),
                GR_ERR_CONFIG, 1, "'a' cannot be the token 0");
  fixture_fails(open_by(gr_arena_printf(arena, "%stokenizer_template: ['$', '<eos>']}", ranks), &t),
                GR_ERR_CONFIG, 1, "no token '<eos>'");
  fixture_fails(
      open_by(gr_arena_printf(arena, "{tokenizer: %s/words.json, tokenizer_special: [a]}", folder),
              &t),
      GR_ERR_CONFIG, 0, "names its pattern and special tokens");
  MUST(open_by("{tokenizer: null}", &t));
  CHECK(!t, "no tokenizer is given");
}

// Where an added token is a word by itself.
static void wordly_characters(void) {
  static const uint32_t are[] = {'a',     '7',     '_',     0xe9,    0x301,  0x660,
                                 0x2160,  0x200c,  0x200d,  0x24b6,  0x24e9, 0x1f130,
                                 0x1f149, 0x1f150, 0x1f169, 0x1f170, 0x1f189},
                        are_not[] = {' ',    '-',    0xb2,    0xbd,    0x2460,  0x200b,  0x200e,
                                     0x24b5, 0x24ea, 0x1f12f, 0x1f14a, 0x1f18a, 0x1f600, 0xfe10};
  for (size_t i = 0; i < sizeof are / sizeof *are; i++)
    CHECK(gr_is_wordly(are[i]), "U+%04X is of a word", are[i]);
  for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
    CHECK(!gr_is_wordly(are_not[i]), "U+%04X is of no word", are_not[i]);
}

static void broken_texts(void) {
  const gr_tokenizer *t = opened(gr_arena_printf(arena, "%s/words.json", folder), "");
  const char *text = "a\xc3", *bad;
  gr_tokens out = {.arena = arena};
  MUST(gr_tokenizer_encode(t, text, &(gr_encode_options){0}, &out, &bad));
  CHECK(bad == text + 1, "the place that is not UTF-8");
  gr_tokens ids = tokens_of(t, "\xc3\xa9\xf0\x9f\x9a\x82");
  int64_t n = 0;
  while (n < ids.n && strlen(text_of(t, ids.id, n)) < 6) n++;
  const char *cut = text_of(t, ids.id, n);
  CHECK(strstr(cut, "\xef\xbf\xbd") && gr_utf8_valid(cut), "a character without its end: '%s'",
        cut);
  gr_tokenizer_close(t);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  if (argc > 2) folder = argv[2];
  int bad = RUN(argc, argv, {"equal_to_the_recorded", equal_to_the_recorded},
                {"there_and_back", there_and_back}, {"a_long_word", a_long_word},
                {"wrong_files", wrong_files}, {"wrong_keys", wrong_keys},
                {"wordly_characters", wordly_characters}, {"broken_texts", broken_texts});
  gr_arena_destroy(arena);
  return bad;
}
