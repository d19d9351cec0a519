// test_data.c - from a manifest to parts, targets and buckets.
#include "base/port.h"
#include "tests/runtime/data/fixture.h"

static void makes_targets(void) {
  const char *path = fixture_corpus("targets", 8);
  fixture_data spec = fixture_spec(path);
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  CHECK(gr_dataset_samples(d) == 8, "%u", gr_dataset_samples(d));
  const gr_speech_item *item = fixture_item(d, 3);
  static const int32_t cab[] = {2, 0, 1};
  CHECK(item->targets.n == 3 && !memcmp(item->targets.items, cab, sizeof cab), "\"%s\"",
        item->text);
  CHECK(!strcmp(item->utterance->name, "u003"), "%s", item->utterance->name);
  CHECK(item->frames == (800 + 3 * 2741 % 8000) / 80 + 1, "%d frames", item->frames);
  gr_text t = gr_text_make(gr_arena_create());
  CHECK(!gr_dataset_skipped(d, &t), "nothing is left out: %s", t.chars);
  gr_arena_destroy(t.arena);
  gr_dataset_close(d);
}

// One transcript, under each rule for what is not in the vocabulary.
static gr_status open_one(const char *text, gr_unknown unknown, gr_dataset **d) {
  static char lines[512];
  const char *path = fixture_path("one.jsonl");
  fixture_wav(fixture_path("one.wav"), 8000, 1, 900, 1);
  snprintf(lines, sizeof lines,
           "{\"audio_path\": \"one.wav\", \"text\": \"abc\", \"name\": \"first\"}\n"
           "{\"audio_path\": \"one.wav\", \"text\": \"%s\"}\n",
           text);
  fixture_text(path, lines);
  fixture_data spec = fixture_spec(path);
  spec.speech.text = (gr_text_rules){GR_LETTERS_LOWER, "-", "!", unknown};
  return fixture_open(&spec, d);
}

// Each symbol once for a transcript, those of most recordings first.
static void names_unknown_symbols(void) {
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  fixture_wav(fixture_path("one.wav"), 8000, 1, 900, 1);
  fixture_text(fixture_path("some.jsonl"),
               "{\"audio_path\": \"one.wav\", \"text\": \"abc\", \"name\": \"1\"}\n"
               "{\"audio_path\": \"one.wav\", \"text\": \"+a*b*\", \"name\": \"2\"}\n"
               "{\"audio_path\": \"one.wav\", \"text\": \"\u00e9*\", \"name\": \"3\"}\n");
  fixture_data spec = fixture_spec(fixture_path("some.jsonl"));
  spec.speech.text = (gr_text_rules){GR_LETTERS_LOWER, "-", "!", GR_UNKNOWN_SKIP};
  MUST(fixture_open(&spec, &d));
  gr_dataset_notes(d, &t);
  const char *said = "recordings are skipped for '*' (2), '+' (1), '\u00e9' (1): add";
  CHECK(t.len && strstr(t.chars, said), "%s", t.chars);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

static void unknown_symbols(void) {
  gr_dataset *d;
  fixture_fails(open_one("a*b", GR_UNKNOWN_FAIL, &d), GR_ERR_DATA, 2, "the symbol '*' of \"a*b\"");
  fixture_fails(open_one("!", GR_UNKNOWN_FAIL, &d), GR_ERR_DATA, 2, "empty after the text rules");
  fixture_fails(open_one("", GR_UNKNOWN_FAIL, &d), GR_ERR_DATA, 2, "the transcript \"\" is empty");
  MUST(open_one("A-B!", GR_UNKNOWN_FAIL, &d));
  CHECK(!strcmp(fixture_item(d, 1)->text, "a b"), "%s", fixture_item(d, 1)->text);
  gr_dataset_close(d);
  MUST(open_one("a*b", GR_UNKNOWN_SKIP, &d));
  CHECK(gr_dataset_samples(d) == 1 && fixture_skipped(d, GR_SPEECH_UNKNOWN) == 1, "left out");
  gr_dataset_close(d);
  MUST(open_one("a*b", GR_UNKNOWN_DROP, &d));
  CHECK(gr_dataset_samples(d) == 2 && fixture_item(d, 1)->targets.n == 2, "the symbol left out");
  gr_dataset_close(d);
  MUST(open_one("**", GR_UNKNOWN_DROP, &d));
  CHECK(gr_dataset_samples(d) == 1 && fixture_skipped(d, GR_SPEECH_EMPTY) == 1, "nothing remained");
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  CHECK(gr_dataset_skipped(d, &t), "a line");
  const char *said = "skipped 1 of 2 utterances: 1 with an empty transcript (";
  CHECK(!strncmp(t.chars, said, strlen(said)) && strstr(t.chars, ":2)"), "%s", t.chars);
  gr_arena_destroy(a);
  gr_dataset_close(d);
}

// By the name: the same in a manifest backwards, and with others added.
static void splits_by_name(void) {
  char lines[100][64], *all = calloc(1, 16384);
  fixture_wav(fixture_path("s.wav"), 8000, 1, 900, 1);
  bool validation[100];
  int n = 0;
  for (int pass = 0; pass < 2; pass++) {
    *all = 0;
    for (int i = 0; i < 100; i++) {
      snprintf(lines[i], sizeof *lines,
               "{\"name\": \"n%d\", \"audio_path\": \"s.wav\", \"text\": ", pass ? 99 - i : i);
      strcat(strcat(all, lines[i]), "\"a\", \"duration\": 0.1125}\n");
    }
    fixture_text(fixture_path("split.jsonl"), all);
    fixture_data spec = fixture_spec(fixture_path("split.jsonl"));
    spec.options.validation_fraction = 0.3;
    gr_dataset *d;
    MUST(fixture_open(&spec, &d));
    for (uint32_t i = 0; i < 100; i++) {
      bool v = gr_dataset_sample(d, i)->split == GR_SPLIT_VALIDATION;
      int name = atoi(fixture_item(d, i)->utterance->name + 1);
      if (pass)
        CHECK(validation[name] == v, "n%d moved", name);
      else
        validation[name] = v, n += v;
    }
    gr_dataset_close(d);
  }
  CHECK(n > 15 && n < 45, "%d of 100 are 0.3", n);
  free(all);
}

static void takes_a_second_manifest(void) {
  fixture_data spec = fixture_spec(fixture_corpus("first", 9));
  spec.speech.validation = fixture_corpus("second", 4), spec.options.validation_fraction = 0.5;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  for (uint32_t i = 0; i < 13; i++)
    CHECK(gr_dataset_sample(d, i)->split == (i < 9 ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION),
          "utterance %u", i);
  CHECK(fixture_notes(d, NULL), "no recording is in both");
  gr_dataset_close(d);
  spec.speech.validation = spec.speech.train;
  MUST(fixture_open(&spec, &d));
  CHECK(fixture_notes(d, "9 validation samples are of files that are trained on, too"), "a line");
  gr_dataset_close(d);
}

static void keeps_to_given_bounds(void) {
  static const int32_t bounds[] = {20, 50, 52, 80};
  fixture_data spec = fixture_spec(fixture_corpus("bounds", 40));
  spec.options.bounds = bounds, spec.options.n_buckets = 4;
  gr_dataset *d;
  int n;
  MUST(fixture_open(&spec, &d));
  const gr_bucket_info *b = gr_dataset_bucket(d, 0);
  n = gr_dataset_buckets(d);
  uint32_t held = 0;
  for (int i = 0; i < n; i++) held += b[i].count[0] + b[i].count[1];
  CHECK(held == gr_dataset_samples(d), "all are in a bucket");
  for (uint32_t i = 0; i < gr_dataset_samples(d); i++) {
    const gr_speech_item *item = fixture_item(d, i);
    int k = gr_dataset_sample(d, i)->bucket;
    CHECK(item->frames <= b[k].length && item->targets.n <= b[k].extent[2], "utterance %u", i);
    CHECK(!k || item->frames > b[k - 1].length, "utterance %u: the smallest that holds it", i);
  }
  CHECK(held + d->too_long.n == 40, "the rest is too long");
  CHECK(d->too_long.n > 0, "some are");
  gr_dataset_close(d);
  static const int32_t falling[] = {20, 10};
  spec.options.bounds = falling, spec.options.n_buckets = 2;
  fixture_fails(fixture_open(&spec, &d), GR_ERR_CONFIG, 0, "must rise");
  static const int32_t tiny[] = {2};
  spec.options.bounds = tiny, spec.options.n_buckets = 1;
  fixture_fails(fixture_open(&spec, &d), GR_ERR_DATA, 1, "nothing is left to train on");
}

// Frames of training, padded up to the bounds.
static int64_t padded(gr_dataset *d, const int32_t *bounds, int n) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < gr_dataset_samples(d); i++) {
    int k = 0;
    if (gr_dataset_sample(d, i)->split != GR_SPLIT_TRAIN) continue;
    while (k < n - 1 && gr_dataset_sample(d, i)->length > bounds[k]) k++;
    sum += bounds[k];
  }
  return sum;
}

// Against every pair of bounds that could be.
static void check_bounds(const char *train, const char *validation) {
  fixture_data spec = fixture_spec(train);
  spec.speech.validation = validation;
  gr_dataset *d;
  int n;
  MUST(fixture_open(&spec, &d));
  const gr_bucket_info *b = gr_dataset_bucket(d, 0);
  n = gr_dataset_buckets(d);
  CHECK(n == 3, "%d buckets", n);
  int32_t bounds[3] = {0};
  for (int i = 0; i < n && i < 3; i++) {
    bounds[i] = b[i].length;
    CHECK(bounds[i] % 4 == 0, "a multiple of 4: %d", bounds[i]);
  }
  int64_t best = INT64_MAX;
  for (int32_t x = 4; x < bounds[2]; x += 4)
    for (int32_t y = x + 4; y < bounds[2]; y += 4) {
      int64_t sum = padded(d, (int32_t[]){x, y, bounds[2]}, 3);
      best = sum < best ? sum : best;
    }
  CHECK(padded(d, bounds, 3) == best, "%lld frames, the least is %lld",
        (long long)padded(d, bounds, 3), (long long)best);
  gr_dataset_close(d);
}

// What is validated has to fit, but does not count: it is read once where training is read often.
static void chooses_the_best_bounds(void) {
  const char *corpus = fixture_corpus("choose", 40);
  check_bounds(corpus, NULL);
  char lines[4096] = "";
  for (int i = 0; i < 30; i++)
    snprintf(lines + strlen(lines), 128,
             "{\"name\": \"%d\", \"audio_path\": \"choose-u010.wav\", \"text\": \"a\", "
             "\"duration\": %.6f}\n",
             i, (800 + 10 * 2741 % 8000) / 8000.0);
  fixture_text(fixture_path("alike.jsonl"), lines);
  check_bounds(corpus, fixture_path("alike.jsonl"));
}

// An utterance may ride in a larger bucket, so that has to hold its targets.
static void larger_buckets_hold_more_text(void) {
  static const int32_t bounds[] = {8, 20};
  fixture_data spec = fixture_spec(fixture_path("text.jsonl"));
  fixture_wav(fixture_path("short.wav"), 8000, 1, 7 * 80, 1);
  fixture_wav(fixture_path("long.wav"), 8000, 1, 15 * 80, 1);
  fixture_text(fixture_path("text.jsonl"),
               "{\"audio_path\": \"short.wav\", \"text\": \"abcab\"}\n"
               "{\"audio_path\": \"long.wav\", \"text\": \"a\"}\n");
  spec.options.bounds = bounds, spec.options.n_buckets = 2;
  gr_dataset *d;
  int n;
  MUST(fixture_open(&spec, &d));
  const gr_bucket_info *b = gr_dataset_bucket(d, 0);
  n = gr_dataset_buckets(d);
  CHECK(n == 2 && b[0].extent[2] == 5 && b[1].extent[2] == 5, "%d, %d", b[0].extent[2],
        b[1].extent[2]);
  gr_dataset_close(d);
}

static void leaves_out_dense_ones(void) {
  fixture_data spec = fixture_spec(fixture_path("dense.jsonl"));
  fixture_wav(fixture_path("dense.wav"), 8000, 1, 7 * 80, 1);  // 8 frames
  fixture_text(fixture_path("dense.jsonl"),
               "{\"name\": \"1\", \"audio_path\": \"dense.wav\", \"text\": \"abca\"}\n"
               "{\"name\": \"2\", \"audio_path\": \"dense.wav\", \"text\": \"abbc\"}\n"
               "{\"name\": \"3\", \"audio_path\": \"dense.wav\", \"text\": \"abcab\"}\n");
  spec.speech.subsampling = 2;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  CHECK(gr_dataset_samples(d) == 1 && fixture_skipped(d, GR_SPEECH_DENSE) == 2,
        "4 steps hold 4 symbols, and not when two are equal");
  gr_dataset_close(d);
}

static void tells_shapes(void) {
  fixture_data spec = fixture_spec(fixture_corpus("shapes", 20));
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  const gr_bucket_info *b = gr_dataset_bucket(d, 0);
  gr_batch shapes;
  gr_contract_shapes(gr_dataset_contract(d), 1, 5, &shapes);
  const gr_field *f = shapes.field;
  const gr_type x = {GR_F32, 3, {5, b[1].length, 8}}, y = {GR_I32, 2, {5, b[1].extent[2]}};
  CHECK(shapes.n_fields == 5 && !strcmp(f[4].name, "weight"), "%d fields", shapes.n_fields);
  CHECK(!strcmp(f[0].name, "x") && gr_type_same(&f[0].type, &x) && !f[0].data, "x");
  CHECK(!strcmp(f[2].name, "targets") && gr_type_same(&f[2].type, &y), "targets");
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_dataset_inspect(d, 4, &t);
  CHECK(strstr(t.chars, "train           20 utterances"), "%s", t.chars);
  CHECK(strstr(t.chars, "blank 4"), "%s", t.chars);
  gr_arena_destroy(a);
  gr_dataset_close(d);
}

// The first samples of each manifest; a limit above their number has no effect.
static void limits(void) {
  const char *path = fixture_corpus("limits", 12), *other = fixture_corpus("others", 5);
  fixture_data spec = fixture_spec(path);
  spec.speech.validation = other;
  static const uint32_t most[] = {0, 3, 7, 100}, want[] = {17, 6, 12, 17};
  for (int i = 0; i < 4; i++) {
    gr_dataset *d;
    spec.options.limit = most[i];
    MUST(fixture_open(&spec, &d));
    CHECK(gr_dataset_samples(d) == want[i], "limit %u: %u", most[i], gr_dataset_samples(d));
    CHECK(!strcmp(fixture_item(d, 2)->utterance->name, "u002"), "%s",
          fixture_item(d, 2)->utterance->name);
    gr_dataset_close(d);
  }
}

// Relative paths are resolved in the root, absolute ones are used as they are.
static void roots(void) {
  const char *wav = fixture_path("one.wav"), *path = fixture_path("elsewhere/one.jsonl");
  char folder[4096], lines[9000];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(wav, '/') - wav), wav);
  MUST(gr_make_dirs(fixture_path("elsewhere")));
  fixture_wav(wav, 8000, 1, 900, 1);
  snprintf(lines, sizeof lines,
           "{\"audio_path\": \"one.wav\", \"text\": \"abc\"}\n"
           "{\"audio_path\": \"%s\", \"text\": \"abc\"}\n",
           wav);
  fixture_text(path, lines);
  fixture_data spec = fixture_spec(path);
  gr_dataset *d;
  fixture_fails(fixture_open(&spec, &d), GR_ERR_DATA, 0, "elsewhere/one.wav");
  spec.speech.keys.root = folder;
  MUST(fixture_open(&spec, &d));
  CHECK(!strcmp(fixture_item(d, 0)->utterance->audio, wav), "%s",
        fixture_item(d, 0)->utterance->audio);
  CHECK(!strcmp(fixture_item(d, 1)->utterance->audio, wav), "%s",
        fixture_item(d, 1)->utterance->audio);
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"makes_targets", makes_targets}, {"unknown_symbols", unknown_symbols},
             {"names_unknown_symbols", names_unknown_symbols}, {"splits_by_name", splits_by_name},
             {"takes_a_second_manifest", takes_a_second_manifest},
             {"keeps_to_given_bounds", keeps_to_given_bounds},
             {"chooses_the_best_bounds", chooses_the_best_bounds},
             {"larger_buckets_hold_more_text", larger_buckets_hold_more_text},
             {"leaves_out_dense_ones", leaves_out_dense_ones}, {"tells_shapes", tells_shapes},
             {"limits", limits}, {"roots", roots});
}
