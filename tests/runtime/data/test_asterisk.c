// test_asterisk.c - the importer, on files of its own and on Debian's package where it is.
#include "base/port.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;

static void imports_lines(void) {
  MUST(gr_make_dirs(fixture_path("sounds/digits")));
  static const char *const names[] = {"hello", "digits/1", "press", "dollar", "beep", "note"};
  for (int i = 0; i < 6; i++) fixture_wav(fixture_path("sounds/%s.wav", names[i]), 8000, 1, 400, 1);
  const char *text = fixture_path("prompts.txt"), *out = fixture_path("out.jsonl");
  fixture_text(text,
               "; A comment: here\n\nhello:  Hello [there] world.\ndigits/1: one\n"
               "press: press 1 now\ndollar: dollar [$]\nbeep: [a beep]\ngone: gone away\n"
               "note: IAX (note: not \"2\")\n");
  gr_import_asterisk spec = {fixture_path("sounds"), text, true};
  gr_import_counts c;
  gr_manifest m;
  MUST(gr_import_asterisk_run(&spec, out, &c));
  CHECK(c.written == 4 && c.sounds == 1 && c.digits == 1 && c.missing == 1, "%u %u %u %u",
        c.written, c.sounds, c.digits, c.missing);
  CHECK(c.seconds > 0.199 && c.seconds < 0.201, "%g seconds", c.seconds);
  MUST(gr_manifest_read(arena, out, NULL, &m));
  static const char *const want[] = {"Hello  world.", "one", "dollar", "IAX"};
  for (uint32_t i = 0; i < m.n && i < 4; i++) {
    CHECK(!strcmp(m.items[i].text, want[i]), "'%s'", m.items[i].text);
    CHECK(m.items[i].seconds == 0.05, "%g seconds", m.items[i].seconds);
  }
  spec.no_digits = false;
  MUST(gr_import_asterisk_run(&spec, out, &c));
  CHECK(c.written == 5, "%u with digits", c.written);
}

static void refuses(void) {
  gr_import_counts c;
  const char *text = fixture_path("bad.txt"), *out = fixture_path("not.jsonl");
  gr_import_asterisk spec = {fixture_path("no-folder"), text, true};
  fixture_fails(gr_import_asterisk_run(&spec, out, &c), GR_ERR_DATA, 0, "no folder of recordings");
  MUST(gr_make_dirs(fixture_path("empty")));
  spec.sounds = fixture_path("empty");
  fixture_fails(gr_import_asterisk_run(&spec, out, &c), GR_ERR_DATA, 0, "there are no transcripts");
  fixture_text(text, "just words\n");
  fixture_fails(gr_import_asterisk_run(&spec, out, &c), GR_ERR_DATA, 0, "expected 'name: text'");
  fixture_text(text, "a: b\n");
  fixture_fails(gr_import_asterisk_run(&spec, out, &c), GR_ERR_DATA, 0, "no transcript of a rec");
  fixture_bytes(text, "\x1f\x8b\x08\0\0\0\0\0\0\3garbage", 17);
  gr_status s = gr_import_asterisk_run(&spec, out, &c);
  CHECK(s, "damaged gzip");
  gr_status_drop(s);
  CHECK(!gr_is_file(out), "nothing is written");
}

// Debian's package: import, buckets, and one epoch on two ranks that agree.
static void the_package(void) {
  gr_import_asterisk spec = {.no_digits = true};
  gr_import_counts c;
  const char *out = fixture_path("asterisk.jsonl");
  gr_status s = gr_import_asterisk_run(&spec, out, &c);
  if (s && strstr(gr_status_text(s), "there ")) {
    gr_status_drop(s);
    SKIP("asterisk-core-sounds-en-wav is not installed");
  }
#ifndef GR_HAVE_ZLIB
  gr_status_drop(s);
  SKIP("built without zlib: the transcripts are compressed");
#endif
  MUST(s);
  CHECK(c.written > 450 && c.seconds > 900 && c.seconds < 1600, "%u, %g s", c.written, c.seconds);
  fixture_data data = fixture_spec(out);
  MUST(gr_vocab_make(arena, "ABCDEFGHIJKLMNOPQRSTUVWXYZ '", -1,
                     (gr_vocab *)(uintptr_t)data.speech.vocab));
  data.speech.text = (gr_text_rules){GR_LETTERS_UPPER, "-/", ".,!?;:\"\\", GR_UNKNOWN_FAIL};
  data.options.validation_fraction = 0.1, data.options.n_buckets = 4, data.speech.max_frames = 1000;
  data.speech.subsampling = 4, data.options.cache_bytes = 1 << 26;
  gr_dataset *d;
  MUST(fixture_open(&data, &d));
  gr_loader *l[2];
  const gr_batch *b[2] = {NULL};
  for (int r = 0; r < 2; r++) {
    gr_loader_spec load = {.batch = 16,
                           .rank = r,
                           .ranks = 2,
                           .seed = 1,
                           .shuffle = true,
                           .augment = true,
                           .epochs = 1,
                           .workers = 1,
                           .prefetch = 2};
    MUST(gr_loader_open(d, &load, l + r));
  }
  gr_type type;
  uint32_t rows = 0, batches = 0;
  for (;; batches++) {
    for (int r = 0; r < 2; r++) MUST(gr_loader_next(l[r], b + r));
    if (!b[0]) break;
    CHECK(b[0]->bucket == b[1]->bucket && b[0]->index == b[1]->index, "batch %u", batches);
    for (int r = 0; r < 2; r++)
      for (int i = 0; i < 8; i++)
        rows += ((const float *)fixture_field(b[r], "weight", &type))[i] > 0;
  }
  uint32_t train = 0;
  for (uint32_t u = 0; u < gr_dataset_samples(d); u++)
    train += gr_dataset_sample(d, u)->split == GR_SPLIT_TRAIN;
  CHECK(rows == train &&
            batches == gr_contract_batches(gr_dataset_contract(d), GR_SPLIT_TRAIN, 16, NULL),
        "%u rows of %u", rows, train);
  for (int r = 0; r < 2; r++) gr_loader_close(l[r]);
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad = RUN(argc, argv, {"imports_lines", imports_lines}, {"refuses", refuses},
                {"the_package", the_package});
  gr_arena_destroy(arena);
  return bad;
}
