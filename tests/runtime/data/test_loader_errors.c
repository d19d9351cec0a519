// test_loader_errors.c - recordings that cannot be read, and settings that cannot be.
#include "tests/runtime/data/tally.h"

// A corpus of four, the third of which is not what it should be.
static gr_dataset *open_broken(const char *how, bool skip) {
  const char *manifest = fixture_corpus("broken", 4);
  if (!strcmp(how, "missing")) remove(fixture_path("broken-u002.wav"));
  if (!strcmp(how, "text")) fixture_text(fixture_path("broken-u002.wav"), "no recording at all");
  if (!strcmp(how, "long")) fixture_wav(fixture_path("broken-u002.wav"), 8000, 1, 20000, 1);
  fixture_data spec = fixture_spec(manifest);
  spec.options.n_buckets = 1, spec.options.skip_unreadable = skip;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  return d;
}

static void errors_come_with_their_batch(void) {
  static const struct {
    const char *how, *message;
  } cases[] = {{"missing", "cannot open '"},
               {"text", "broken-u002.wav' is not a"},
               {"long", "lasts 2.50 seconds, the manifest says"}};
  for (int i = 0; i < 3; i++)
    for (int workers = 0; workers < 3; workers++) {
      gr_dataset *d = open_broken(cases[i].how, false);
      gr_loader_spec spec = plain();
      gr_loader *l;
      const gr_batch *b;
      spec.shuffle = false, spec.batch = 1, spec.workers = workers;
      MUST(gr_loader_open(d, &spec, &l));
      for (int k = 0; k < 2; k++) {
        MUST(gr_loader_next(l, &b));
        CHECK(b && b->sample[0] == (uint32_t)k, "batch %d", k);
      }
      gr_status s = gr_loader_next(l, &b);
      CHECK(s && strstr(gr_status_loc(s).file, "broken.jsonl") && gr_status_loc(s).col == 32,
            "the recording's place in the manifest, column %d", gr_status_loc(s).col);
      fixture_fails(s, GR_ERR_DATA, 3, cases[i].message);
      CHECK(!b, "no batch");
      gr_loader_close(l);
      gr_dataset_close(d);
    }
}

// Of two in one batch the first row's, whichever thread comes first.
static void the_first_error_is_told(void) {
  for (int i = 0; i < 30; i++) {
    gr_dataset *d = open_broken(i % 2 ? "text" : "missing", false);  // slow and quick to fail
    if (i % 2)
      remove(fixture_path("broken-u003.wav"));
    else
      fixture_text(fixture_path("broken-u003.wav"), "nor this");
    gr_loader_spec spec = plain();
    gr_loader *l;
    const gr_batch *b;
    spec.shuffle = false, spec.batch = 4, spec.workers = 1 + i % 3;
    MUST(gr_loader_open(d, &spec, &l));
    fixture_fails(gr_loader_next(l, &b), GR_ERR_DATA, 0, "broken-u002.wav");
    gr_loader_close(l);
    gr_dataset_close(d);
  }
}

static void unreadable_ones_can_weigh_0(void) {
  gr_dataset *d = open_broken("text", true);
  static tally all;
  gr_loader_spec spec = plain();
  spec.batch = 4, spec.workers = 2, all.n = 0;
  read_all(d, spec, 1, &all);
  CHECK(all.n == 8, "%d rows", all.n);
  for (int i = 0; i < all.n; i++)
    CHECK(all.rows[i].weight == (all.rows[i].utterance == 2 ? 0 : 1), "row %d", i);
  CHECK(gr_dataset_unreadable(d) == 1, "counted once");
  gr_dataset_close(d);
}

// Row 2 of the first batch is the sample that cannot be read; the row after it is not its own
// either.
static void unreadable_ones_are_replaced(void) {
  gr_dataset *d = open_broken("text", true);
  gr_loader_spec spec = plain();
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  spec.batch = 4, spec.shuffle = false, spec.augment = false;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const int32_t *targets = fixture_field(b, "targets", &t);
  int64_t u = t.dim[1];
  CHECK(b->sample[2] == 2 && weight_of(b, 2) == 0 && weight_of(b, 3) == 1, "row 2 does not count");
  CHECK(!memcmp(targets + 2 * u, targets + 3 * u, (size_t)u * sizeof *targets),
        "it is row 3 again");
  gr_loader_close(l);
  gr_dataset_close(d);
}

// A rank whose samples of a batch cannot be read at all has one of the other ranks' in their place,
// or of another batch: its rows are nowhere zero.
static void others_replace_a_whole_batch(void) {
  for (int ranks = 1; ranks <= 2; ranks++) {
    gr_dataset *d = open_broken("text", true);
    gr_loader_spec spec = plain();
    gr_loader *l;
    const gr_batch *b;
    gr_type t;
    spec.batch = ranks, spec.ranks = ranks, spec.rank = 0, spec.shuffle = false;
    MUST(gr_loader_open(d, &spec, &l));
    for (int k = 0; k < (ranks == 1 ? 3 : 2); k++) MUST(gr_loader_next(l, &b));
    const int32_t *lengths = fixture_field(b, "lengths", &t);
    CHECK(b->sample[0] == 2 && weight_of(b, 0) == 0, "the sample that cannot be read");
    CHECK(lengths[0] > 0 && gr_dataset_unreadable(d) == 1, "%d frames", lengths[0]);
    gr_loader_close(l);
    gr_dataset_close(d);
  }
}

// A wrong entry of a manifest is refused while planning, at its line, or skipped.
static void planning_refuses_what_cannot_be(void) {
  static const struct {
    const char *line, *message;
    int col;
  } cases[] = {
      {"\"text\": \"a\", \"duration\": 999999", "lasts 999999 seconds, and may last 14400", 52},
      {"\"text\": \"a\", \"duration\": 61", "the manifest says 61.00", 52},
      {"\"text\": \"a\", \"name\": \"2\"", "it is a folder", 16},
      {"\"text\": \"abcabcabcabcabcabc\", \"duration\": 0.1",
       "the transcript has 18 symbols, and recording", 35},
  };
  for (int i = 0; i < 4; i++)
    for (int skip = 0; skip < 2; skip++) {
      static char lines[1024];
      fixture_wav(fixture_path("p.wav"), 8000, 1, 800, 1);
      snprintf(lines, sizeof lines,
               "{\"audio_path\": \"p.wav\", \"text\": \"a\", \"name\": \"1\"}\n"
               "{\"audio_path\": \"%s\", %s}\n",
               i == 2 ? "." : "./p.wav", cases[i].line);
      fixture_text(fixture_path("p.jsonl"), lines);
      fixture_data spec = fixture_spec(fixture_path("p.jsonl"));
      spec.options.skip_unreadable = skip;
      gr_dataset *d = NULL;
      gr_status s = fixture_open(&spec, &d);
      if (!skip) {
        CHECK(s && gr_status_hint(s) && strstr(gr_status_hint(s), "skip_unreadable"), "a hint");
        CHECK(gr_status_loc(s).col == cases[i].col, "column %d, not %d", gr_status_loc(s).col,
              cases[i].col);
        fixture_fails(s, GR_ERR_DATA, 2, cases[i].message);
        continue;
      }
      MUST(s);
      const char *said = gr_dataset_unreadable_line(d, 0);
      CHECK(gr_dataset_samples(d) == 1 && gr_dataset_unreadable(d) == 1, "counted");
      CHECK(said && strstr(said, "p.jsonl:2:") && strstr(said, cases[i].message), "%s", said);
      CHECK(!gr_dataset_unreadable_line(d, 1), "one");
      gr_dataset_close(d);
    }
}

// A duration that is not true sizes no bucket; one of a recording that is too long anyway is free.
static void too_long_is_not_unreadable(void) {
  fixture_text(fixture_path("l.jsonl"),
               "{\"audio_path\": \"l.wav\", \"text\": \"a\"}\n"
               "{\"audio_path\": \"none.wav\", \"text\": \"a\", \"duration\": 999999}\n");
  fixture_wav(fixture_path("l.wav"), 8000, 1, 800, 1);
  fixture_data spec = fixture_spec(fixture_path("l.jsonl"));
  spec.speech.max_frames = 100;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  CHECK(d->too_long.n == 1 && !gr_dataset_unreadable(d), "long");
  CHECK(gr_dataset_bucket(d, 0)->length < 100 && gr_dataset_buckets(d) == 1, "small buckets");
  gr_dataset_close(d);
}

// Short in seconds, and yet more frames than any bucket may have.
static void frames_are_limited(void) {
  fixture_text(fixture_path("f.jsonl"),
               "{\"audio_path\": \"f.wav\", \"text\": \"a\", \"duration\": 20}\n");
  fixture_data spec = fixture_spec(fixture_path("f.jsonl"));
  gr_dataset *d;
  spec.speech.features.rate = 1000000, spec.speech.features.hop = 1, spec.speech.features.mels = 1;
  fixture_fails(fixture_open(&spec, &d), GR_ERR_DATA, 1,
                "has 20000001 frames, and may have 16777216");
}

static void reads_all_to_find_them(void) {
  const char *manifest = fixture_corpus("all", 30);
  for (int i = 0; i < 30; i += 3) remove(fixture_path("all-u%03d.wav", i));
  fixture_data spec = fixture_spec(manifest);
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  fixture_fails(gr_dataset_load_all(d), GR_ERR_DATA, 1, "all-u000.wav");
  gr_dataset_close(d);
  spec.options.skip_unreadable = true;
  MUST(fixture_open(&spec, &d));
  MUST(gr_dataset_load_all(d));
  CHECK(gr_dataset_unreadable(d) == 10, "ten are missing");
  for (int i = 0; i < 10; i++) {
    const char *want = fixture_path("all.jsonl:%d:32: ", 3 * i + 1),
               *said = gr_dataset_unreadable_line(d, (uint64_t)i);
    CHECK(said && !strncmp(said, want, strlen(want)), "number %d is '%s'", i, said);
  }
  CHECK(!gr_dataset_unreadable_line(d, 10), "no more");
  gr_dataset_close(d);
}

// To leave out all of them is no training.
static void not_all_are_left_out(void) {
  const char *manifest = fixture_corpus("none", 3);
  fixture_data data = fixture_spec(manifest);
  data.options.skip_unreadable = true;
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  MUST(fixture_open(&data, &d));
  for (int i = 0; i < 3; i++) remove(fixture_path("none-u%03d.wav", i));
  gr_loader_spec spec = plain();
  spec.workers = 1;
  MUST(gr_loader_open(d, &spec, &l));
  gr_status s = GR_OK;
  for (int i = 0; i < 4 && !s; i++) s = gr_loader_next(l, &b);
  fixture_fails(s, GR_ERR_DATA, 1, "none of 3 utterances can be read");
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void refuses_bad_settings(void) {
  gr_dataset *d = open_broken("no", false);
  gr_loader *l;
  gr_loader_spec spec = plain();
  spec.batch = 0;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "a batch of 0");
  spec = plain(), spec.rank = 1;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "rank 1 of 1");
  spec = plain(), spec.prefetch = 0;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0,
                "prefetch must be from 1 to 64, but is 0");
  gr_dataset_close(d);
}

// Rows times frames times bands can be more bytes than a size_t counts.
static void products_do_not_wrap(void) {
  static const int32_t bounds[] = {GR_MAX_LENGTH};
  fixture_data data = fixture_spec(fixture_corpus("large", 2));
  data.options.bounds = bounds, data.options.n_buckets = 1;
  data.speech.features.fft = GR_MAX_POINTS, data.speech.features.mels = GR_MAX_MELS;
  gr_dataset *d;
  gr_loader *l;
  gr_batch shapes;
  char text[96];
  MUST(fixture_open(&data, &d));
  gr_loader_spec spec = plain();
  spec.batch = 1 << 26;  // times 2^38 bytes: 2^64
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_DATA, 0, "x f32[67108864,16777216,4096]");
  gr_contract_shapes(gr_dataset_contract(d), 0, 1 << 26, &shapes);
  CHECK(!gr_type_possible(&shapes.field[0].type), "%s", gr_type_text(&shapes.field[0].type, text));
  CHECK(gr_contract_batches(gr_dataset_contract(d), GR_SPLIT_TRAIN, INT32_MAX, NULL) == 1,
        "one batch");
  spec.batch = 2, spec.ranks = 2, spec.workers = 257;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "workers must be from 0 to 256");
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"errors_come_with_their_batch", errors_come_with_their_batch},
             {"the_first_error_is_told", the_first_error_is_told},
             {"unreadable_ones_can_weigh_0", unreadable_ones_can_weigh_0},
             {"unreadable_ones_are_replaced", unreadable_ones_are_replaced},
             {"others_replace_a_whole_batch", others_replace_a_whole_batch},
             {"planning_refuses_what_cannot_be", planning_refuses_what_cannot_be},
             {"too_long_is_not_unreadable", too_long_is_not_unreadable},
             {"not_all_are_left_out", not_all_are_left_out},
             {"frames_are_limited", frames_are_limited},
             {"reads_all_to_find_them", reads_all_to_find_them},
             {"products_do_not_wrap", products_do_not_wrap},
             {"refuses_bad_settings", refuses_bad_settings});
}
