// test_corpus.c - text to samples: stretches of bytes and of tokens, over several files, where the
// split is, and where training samples start.
#include <unistd.h>
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

typedef struct corpus {
  gr_corpus_spec spec;
  gr_dataset_options options;
  const char *paths[2], *eval[1];
} corpus;

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

// The letters in two files.
static corpus *corpus_of(int32_t context, double validation_fraction) {
  static corpus c;
  c = (corpus){.spec = {.vocab = "bytes", .context = context},
               .options = {.n_buckets = 1, .validation_fraction = validation_fraction}};
  c.paths[0] = fixture_path("a.txt"), c.paths[1] = fixture_path("b.txt");
  fixture_bytes(c.paths[0], letters, 11);
  fixture_bytes(c.paths[1], letters + 11, 15);
  c.spec.paths = (gr_names){c.paths, 2};
  return &c;
}

static gr_status open_corpus(const corpus *c, gr_dataset **out) {
  return gr_dataset_create(&gr_source_corpus, &c->spec, &c->options, out);
}

// The first letters of x of the samples of a split, in their order, and that y is one on.
static void starts(gr_dataset *d, gr_split split, bool augment, int32_t context, char out[64]) {
  gr_loader_spec spec = {.split = split,
                         .batch = 8,
                         .ranks = 1,
                         .epochs = 1,
                         .prefetch = 1,
                         .augment = augment,
                         .seed = 5};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const int32_t *x = fixture_field(b, "x", &t), *y = fixture_field(b, "y", &t);
  int n = 0;
  for (int i = 0; i < b->rows && b->sample[i] != GR_NO_SAMPLE; i++) {
    out[n++] = (char)x[i * context];
    for (int k = 0; k < context; k++)
      CHECK(x[i * context + k] == out[i] + k && y[i * context + k] == out[i] + k + 1,
            "token %d of the sample of '%c' is %d, the next %d", k, out[i], x[i * context + k],
            y[i * context + k]);
  }
  out[n] = 0;
  gr_loader_close(l);
}

// 26 letters, 20 of them for training: three stretches of 6, and the rest for validation.
static void cuts_stretches(void) {
  gr_dataset *d;
  char train[64], eval[64];
  MUST(open_corpus(corpus_of(6, 0.25), &d));
  starts(d, GR_SPLIT_TRAIN, false, 6, train);
  CHECK(!strcmp(train, "agm"), "%s", train);
  CHECK(!gr_dataset_count(d, GR_SPLIT_VALIDATION), "six letters are no stretch of six and one");
  gr_dataset_close(d);
  MUST(open_corpus(corpus_of(4, 0.25), &d));
  starts(d, GR_SPLIT_TRAIN, false, 4, train);
  starts(d, GR_SPLIT_VALIDATION, false, 4, eval);
  CHECK(!strcmp(train, "aeim") && !strcmp(eval, "u"), "%s and %s", train, eval);
  gr_dataset_close(d);
}

static void validation_text(void) {
  corpus *c = corpus_of(5, 0.5);
  gr_dataset *d;
  char train[64], eval[64];
  c->eval[0] = fixture_path("eval.txt");
  fixture_text(c->eval[0], "ABCDEFGHIJK");
  c->spec.eval = (gr_names){c->eval, 1};
  MUST(open_corpus(c, &d));
  starts(d, GR_SPLIT_TRAIN, false, 5, train);
  starts(d, GR_SPLIT_VALIDATION, false, 5, eval);
  CHECK(!strcmp(train, "afkpu") && !strcmp(eval, "AF"), "%s and %s", train, eval);
  gr_dataset_close(d);
}

// With a shift samples start anywhere in their stretch, but end before the border.
static void shifts(void) {
  corpus *c = corpus_of(4, 0.25);
  gr_dataset *d;
  char plain[64], shifted[64], again[64];
  c->spec.shift = true;
  MUST(open_corpus(c, &d));
  starts(d, GR_SPLIT_TRAIN, false, 4, plain);
  starts(d, GR_SPLIT_TRAIN, true, 4, shifted);
  starts(d, GR_SPLIT_TRAIN, true, 4, again);
  CHECK(!strcmp(plain, "aeim") && strcmp(shifted, plain) != 0, "%s and %s", plain, shifted);
  CHECK(!strcmp(shifted, again), "%s, and then %s", shifted, again);
  for (int i = 0; i < 4; i++)
    CHECK(shifted[i] >= plain[i] && shifted[i] < plain[i] + 4 && shifted[i] <= 'a' + 15, "%s",
          shifted);
  gr_dataset_close(d);
}

// 20 letters are for training: stretches of 6 start at 0, 6 and 12, and the last one may move by
// one.
static void shifts_to_the_border(void) {
  corpus *c = corpus_of(6, 0.25);
  gr_dataset *d;
  bool seen[26] = {false};
  c->spec.shift = true;
  MUST(open_corpus(c, &d));
  for (uint32_t epoch = 0; epoch < 40; epoch++) {
    gr_loader_spec spec = {
        .batch = 3, .ranks = 1, .epoch = epoch, .epochs = 1, .prefetch = 1, .augment = true};
    gr_loader *l;
    const gr_batch *b;
    gr_type t;
    MUST(gr_loader_open(d, &spec, &l));
    MUST(gr_loader_next(l, &b));
    const int32_t *x = fixture_field(b, "x", &t), *y = fixture_field(b, "y", &t);
    for (int i = 0; i < 3; i++) {
      CHECK(y[6 * i + 5] < 'a' + 20, "'%c' is for validation", y[6 * i + 5]);
      seen[x[6 * i] - 'a'] = true;
    }
    gr_loader_close(l);
  }
  for (int i = 0; i < 26; i++) CHECK(seen[i] == (i < 14), "a window starts at '%c'", 'a' + i);
  gr_dataset_close(d);
}

// What is to be continued are the last tokens of each file.
static void continues_the_end(void) {
  gr_conf *conf;
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  const char *files[] = {gr_arena_strdup(a, fixture_path("long.txt")),
                         gr_arena_strdup(a, fixture_path("short.txt"))};
  fixture_text(files[0], letters), fixture_text(files[1], "xyz");
  MUST(gr_conf_parse(a, "run.yaml", "{source: corpus, corpus: {vocab: bytes, context: 5}}", &conf));
  MUST(gr_dataset_open_kept(conf, NULL, NULL, files, 2, &d));
  gr_loader_spec spec = {
      .split = GR_SPLIT_VALIDATION, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  if (!gr_dataset_count(d, GR_SPLIT_VALIDATION)) spec.split = GR_SPLIT_TRAIN;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const int32_t *x = fixture_field(b, "x", &t), *lengths = fixture_field(b, "lengths", &t);
  for (int row = 0; row < 2; row++) {
    const char *want = b->sample[row] ? "xyz" : "vwxyz";
    CHECK(lengths[row] == (int32_t)strlen(want), "%d tokens of '%s'", lengths[row], want);
    for (int i = 0; want[i]; i++)
      CHECK(x[5 * row + i] == want[i], "token %d of '%s' is %d", i, want, x[5 * row + i]);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

static void tokens_of_a_file(void) {
  static corpus c;
  gr_dataset *d;
  gr_loader_spec spec = {
      .split = GR_SPLIT_TRAIN, .batch = 1, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  gr_metadata m[GR_MAX_METADATA];
  c = (corpus){.spec = {.vocab = fixture_path("tokens.txt"), .context = 4},
               .options = {.n_buckets = 1}};
  fixture_text(c.spec.vocab, "a\nb\nab\n<space>\n");
  c.paths[0] = fixture_path("text.txt");
  fixture_text(c.paths[0], "ab a b");
  c.spec.paths = (gr_names){c.paths, 1};
  MUST(open_corpus(&c, &d));
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const int32_t *x = fixture_field(b, "x", &t), want[] = {2, 3, 0, 3};
  for (int i = 0; i < 4; i++) CHECK(x[i] == want[i], "token %d is %d", i, x[i]);
  CHECK(gr_dataset_metadata(d, m) == 2 && m[0].value == 5 && m[1].value == 4, "metadata");
  gr_loader_close(l);
  gr_dataset_close(d);
  fixture_text(c.paths[0], "ab\na?b");
  fixture_fails(open_corpus(&c, &d), GR_ERR_DATA, 1, "what follows here is not in the vocabulary");
}

static void refuses(void) {
  gr_dataset *d;
  corpus *c = corpus_of(26, 0);
  fixture_fails(open_corpus(c, &d), GR_ERR_DATA, 0, "has 26 tokens, and a sample takes 26");
  c->paths[1] = fixture_path("absent.txt");
  fixture_fails(open_corpus(c, &d), GR_ERR_DATA, 0, "absent.txt");
  c = corpus_of(4, 0);
  c->spec.paths.n = 0;
  fixture_fails(open_corpus(c, &d), GR_ERR_CONFIG, 0, "data.corpus.path is not given");
  c = corpus_of(4, 0);
  fixture_text(c->paths[0], ""), fixture_text(c->paths[1], "");
  fixture_fails(open_corpus(c, &d), GR_ERR_DATA, 0, "has 0 tokens");
}

// A file that is cut while it is read is an error, not a crash.
static void cut_file(void) {
  corpus *c = corpus_of(6, 0);
  gr_dataset *d;
  gr_loader_spec spec = {
      .split = GR_SPLIT_TRAIN, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  MUST(open_corpus(c, &d));
  CHECK(!truncate(c->paths[1], 2), "truncate");
  gr_status s = gr_loader_open(d, &spec, &l);
  if (!s) {
    s = gr_loader_next(l, &b);
    gr_loader_close(l);
  }
  fixture_fails(s, GR_ERR_DATA, 0, "was cut short while it was read");
  gr_dataset_close(d);
}

// The same place in texts of other lengths is another sample.
static void keys(void) {
  gr_dataset *d;
  corpus *c = corpus_of(4, 0);
  uint64_t of[3];
  for (int i = 0; i < 3; i++) {
    fixture_bytes(c->paths[1], letters + 11, i == 1 ? 14 : 15);
    MUST(open_corpus(c, &d));
    of[i] = gr_dataset_fingerprint(d, 0, true);
    CHECK(of[i] != gr_dataset_fingerprint(d, 1, true), "two samples are one");
    gr_dataset_close(d);
  }
  CHECK(of[0] == of[2] && of[0] != of[1], "a sample of another text is the same");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"cuts_stretches", cuts_stretches}, {"validation_text", validation_text},
             {"shifts", shifts}, {"shifts_to_the_border", shifts_to_the_border},
             {"continues_the_end", continues_the_end}, {"tokens_of_a_file", tokens_of_a_file},
             {"refuses", refuses}, {"keys", keys}, {"cut_file", cut_file});
}
