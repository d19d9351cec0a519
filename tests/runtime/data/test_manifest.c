// test_manifest.c - JSON lines: what is taken, what is refused and where, and back again.
#include "runtime/data/speech/manifest.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;

static void reads_lines(void) {
  const char *path = fixture_path("good.jsonl");
  fixture_text(
      path,
      "{\"audio_path\":\"a.wav\",\"text\":\"h\\u00e4 \\\"x\\\" "
      "\\ud83d\\ude00\\n\",\"duration\":1.25}\n"
      "\n"
      "  { \"text\" : \"b\", \"speaker\": {\"id\": [1, -2.5e3, true, null, \"]\"]}, "
      "\"audio_path\": \"/x/b.wav\", \"name\": \"bee\", \"duration\": null, \"offset\": 0 }\r\n");
  gr_manifest m;
  MUST(gr_manifest_read(arena, path, NULL, &m));
  CHECK(m.n == 2, "%u lines", m.n);
  if (m.n != 2) return;
  CHECK(!strcmp(m.items[0].audio, fixture_path("a.wav")), "beside it: %s", m.items[0].audio);
  CHECK(!strcmp(m.items[0].name, "a.wav"), "named by the path: %s", m.items[0].name);
  CHECK(!strcmp(m.items[0].text, "h\xc3\xa4 \"x\" \xf0\x9f\x98\x80\n"), "%s", m.items[0].text);
  CHECK(m.items[0].seconds == 1.25 && m.items[1].seconds == 0, "seconds");
  CHECK(!strcmp(m.items[1].audio, "/x/b.wav") && !strcmp(m.items[1].name, "bee"), "as they are");
  CHECK(m.items[1].line == 3 && m.items[1].col == 14, "%d:%d", m.items[1].line, m.items[1].col);
}

static void refuses_with_the_place(void) {
#define OK_LINE "{\"audio_path\": \"a\", \"text\": \"t\"}\n"
  static const struct {
    const char *text, *message;
    int line, col;
  } bad[] = {
      {OK_LINE "hello", "expected a value, found 'h'", 2, 1},
      {"{\"audio_path\": \"a\", \"text\": \"t\"", "expected ',' or '}', found the end", 1, 32},
      {"{\"audio_path\": \"a\" \"text\": \"t\"}", "expected ',' or '}', found '\"'", 1, 20},
      {"{\"audio_path\": \"a\", }", "expected a name in double quotes, found '}'", 1, 21},
      {"{\"audio_path\": 3, \"text\": \"t\"}",
       "expected text in double quotes as the value of \"audio_path\"", 1, 16},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"duration\": \"1\"}", "expected a number", 1, 46},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"duration\": 01}", "expected a value, found '0'",
       1, 46},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"duration\": 1e999}", "a double can hold", 1, 46},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"duration\": -1}", "-1 seconds cannot be", 1, 46},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"duration\": 1.}", "expected a value, found '1'",
       1, 46},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"offset\": 2}", "are not read", 1, 44},
      {"{\"audio_path\": \"a\", \"text\": \"t\", \"text\": \"u\"}", "does not have yet", 1, 34},
      {"{\"audio_path\": \"a\"}", "\"text\" is missing", 1, 1},
      {"{\"text\": \"t\"}", "\"audio_path\" is missing", 1, 1},
      {"{\"audio_path\": \"a\", \"text\": \"t\xff\"}", "found the byte 0xff", 1, 31},
      {"{\"audio_path\": \"a\", \"text\": \"t\t\"}", "found the byte 0x09", 1, 31},
      {"{\"audio_path\": \"a\", \"text\": \"\\x\"}", "after a backslash", 1, 31},
      {"{\"audio_path\": \"a\", \"text\": \"\\ud83d x\"}", "surrogate pair", 1, 36},
      {"{\"audio_path\": \"a\", \"text\": \"\\u0000\"}", "without NUL characters", 1, 36},
      {OK_LINE OK_LINE, "'a' is already on line 1", 2, 16},
      {OK_LINE "{\"audio_path\": \"b\", \"text\": \"t\"} x",
       "expected nothing after the value, found 'x'", 2, 34},
      {"[1]\n", "expected one JSON object on each line", 1, 1},
      {"\n\n", "lists no recordings", 1, 1},
      {"{\"audio_path\": \"b\", \"text\": \"t\", \"x\": tru}", "expected a value", 1, 39},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *path = fixture_path("bad.jsonl");
    gr_manifest m;
    fixture_text(path, bad[i].text);
    gr_status s = gr_manifest_read(arena, path, NULL, &m);
    CHECK(gr_status_loc(s).col == bad[i].col, "%s: column %d, not %d", bad[i].text,
          gr_status_loc(s).col, bad[i].col);
    fixture_fails(s, GR_ERR_DATA, bad[i].line, bad[i].message);
  }
  gr_manifest m;
  fixture_fails(gr_manifest_read(arena, fixture_path("none.jsonl"), NULL, &m), GR_ERR_DATA, 0,
                "there is no manifest");
}

static void limits_nesting(void) {
  const char *path = fixture_path("deep.jsonl");
  char text[2000] = "{\"x\": ";
  memset(text + 6, '[', 1900);
  gr_manifest m;
  fixture_text(path, text);
  fixture_fails(gr_manifest_read(arena, path, NULL, &m), GR_ERR_DATA, 1, "at most 32 nested");
}

static void writes_what_it_reads(void) {
  static const gr_utterance items[] = {{"n\"1", "/a/b.wav", "\xc3\xa4 \\ \t.", 0.723125, 0, 0},
                                       {"n2", "/c.wav", "", 0, 0, 0}};
  const char *path = fixture_path("new/folder/out.jsonl");
  gr_manifest m;
  MUST(gr_manifest_write(path, items, 2));
  MUST(gr_manifest_read(arena, path, NULL, &m));
  CHECK(m.n == 2, "%u", m.n);
  for (uint32_t i = 0; i < 2 && m.n == 2; i++) {
    CHECK(!strcmp(m.items[i].name, items[i].name), "name %s", m.items[i].name);
    CHECK(!strcmp(m.items[i].text, items[i].text), "text %s", m.items[i].text);
    CHECK(!strcmp(m.items[i].audio, items[i].audio), "audio %s", m.items[i].audio);
    CHECK(m.items[i].seconds == items[i].seconds, "seconds %.17g", m.items[i].seconds);
  }
  fixture_fails(gr_manifest_write(fixture_path("new/folder"), items, 2), GR_ERR_IO, 0, "folder");
}

// Any change of any byte is read or refused with a place; nothing else.
static void survives_damage(void) {
  const char *path = fixture_path("damaged.jsonl");
  char text[] =
      "{\"audio_path\":\"a\",\"text\":\"\\u00e4\\n\xc3\xa4\",\"duration\":-1.5e+1,\"z\":[{},true]}";
  int refused = 0;
  for (size_t i = 0; i < 3 * (sizeof text - 1); i++) {
    static const unsigned char change[] = {0x01, 0x80, 0x20};
    char *cursor = text + i / 3, original = *cursor;
    *cursor = (char)(*cursor ^ change[i % 3]);
    fixture_bytes(path, text, sizeof text - 1);
    gr_manifest m;
    gr_status s = gr_manifest_read(arena, path, NULL, &m);
    CHECK(!s || (gr_status_code(s) == GR_ERR_DATA && gr_status_loc(s).line), "byte %d: %s",
          (int)i / 3, gr_status_text(s));
    refused += s != GR_OK;
    gr_status_drop(s);
    *cursor = original;
  }
  CHECK(refused > 100, "only %d refused", refused);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad =
      RUN(argc, argv, {"reads_lines", reads_lines},
          {"refuses_with_the_place", refuses_with_the_place}, {"limits_nesting", limits_nesting},
          {"writes_what_it_reads", writes_what_it_reads}, {"survives_damage", survives_damage});
  gr_arena_destroy(arena);
  return bad;
}
