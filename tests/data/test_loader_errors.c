// test_loader_errors.c - recordings that cannot be read, and settings that cannot be.
#include "tests/data/tally.h"

// A corpus of four, the third of which is not what it should be.
static gr_data *open_broken(const char *how, bool skip) {
  const char *manifest = fixture_corpus("broken", 4);
  if (!strcmp(how, "missing")) remove(fixture_path("broken-u002.wav"));
  if (!strcmp(how, "text")) fixture_text(fixture_path("broken-u002.wav"), "no recording at all");
  if (!strcmp(how, "long")) fixture_wav(fixture_path("broken-u002.wav"), 8000, 1, 20000, 1);
  gr_data_spec spec = fixture_spec(manifest);
  spec.n_buckets = 1, spec.skip_unreadable = skip;
  gr_data *d;
  MUST(gr_data_open(&spec, &d));
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
      gr_data *d = open_broken(cases[i].how, false);
      gr_loader_spec spec = plain();
      gr_loader *l;
      const gr_batch *b;
      spec.shuffle = false, spec.batch = 1, spec.workers = workers;
      MUST(gr_loader_open(d, &spec, &l));
      for (int k = 0; k < 2; k++) {
        MUST(gr_loader_next(l, &b));
        CHECK(b && b->utterances[0] == (uint32_t)k, "batch %d", k);
      }
      fixture_fails(gr_loader_next(l, &b), GR_ERR_DATA, 0, cases[i].message);
      CHECK(!b, "no batch");
      gr_loader_close(l);
      gr_data_close(d);
    }
}

// Of two in one batch the first row's, whichever thread comes first.
static void the_first_error_is_told(void) {
  for (int i = 0; i < 30; i++) {
    gr_data *d = open_broken(i % 2 ? "text" : "missing", false);  // slow and quick to fail
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
    gr_data_close(d);
  }
}

static void unreadable_ones_can_weigh_0(void) {
  gr_data *d = open_broken("text", true);
  static tally all;
  gr_loader_spec spec = plain();
  spec.batch = 4, spec.workers = 2, all.n = 0;
  read_all(d, spec, 1, &all);
  CHECK(all.n == 8, "%d rows", all.n);
  for (int i = 0; i < all.n; i++)
    CHECK(all.rows[i].weight == (all.rows[i].utterance == 2 ? 0 : 1), "row %d", i);
  CHECK(gr_data_skipped(d, GR_SKIP_UNREADABLE) == 1, "counted once");
  gr_data_close(d);
}

static void refuses_bad_settings(void) {
  gr_data *d = open_broken("no", false);
  gr_loader *l;
  gr_loader_spec spec = plain();
  spec.batch = 0;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "a batch of 0");
  spec = plain(), spec.rank = 1;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "rank 1 of 1");
  spec = plain(), spec.prefetch = 0;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_CONFIG, 0, "prefetched batches");
  gr_data_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"errors_come_with_their_batch", errors_come_with_their_batch},
             {"the_first_error_is_told", the_first_error_is_told},
             {"unreadable_ones_can_weigh_0", unreadable_ones_can_weigh_0},
             {"refuses_bad_settings", refuses_bad_settings});
}
