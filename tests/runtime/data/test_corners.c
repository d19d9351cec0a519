// test_corners.c - corners of the readers: texts that are not UTF-8, a blank that could be printed,
// samples that are damaged once they are listed, borders of texts, and the cache at its limit.
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/csv.h"
#include "runtime/data/image/image.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

// ---- Texts --------------------------------------------------------------------------------------

// ASCII in UTF-16 with its byte order mark.
static const char *utf16(const char *name, const char *text, bool big) {
  unsigned char out[512];
  size_t n = 0;
  out[n++] = big ? 0xfe : 0xff, out[n++] = big ? 0xff : 0xfe;
  for (; *text; text++)
    out[n++] = big ? 0 : (unsigned char)*text, out[n++] = big ? (unsigned char)*text : 0;
  const char *path = fixture_path("%s", name);
  fixture_bytes(path, out, n);
  return path;
}

static void utf16_is_refused(void) {
  gr_arena *a = gr_arena_create();
  for (int big = 0; big < 2; big++) {
    gr_csv t;
    gr_vocab v;
    gr_manifest m;
    fixture_fails(gr_csv_read(a, utf16("wide.csv", "a,b\n1,2\n", big), &gr_csv_fixed, &t),
                  GR_ERR_DATA, 1, "UTF-16");
    fixture_fails(gr_vocab_read(a, utf16("wide.txt", "a\nb\n", big), -1, &v), GR_ERR_DATA, 1,
                  "UTF-16");
    fixture_fails(gr_manifest_read(a, utf16("wide.jsonl", "{\"text\": \"a\"}\n", big), NULL, &m),
                  GR_ERR_DATA, 1, "UTF-16");
  }
  gr_arena_destroy(a);
}

// The mark of UTF-8 is no part of the first column's name, symbol or object.
static void byte_order_marks_are_passed_over(void) {
  gr_arena *a = gr_arena_create();
  const char *path = fixture_path("mark.csv");
  gr_csv t;
  fixture_text(path,
               "\xef\xbb\xbf"
               "a,b\n1,2\n");
  MUST(gr_csv_read(a, path, &gr_csv_fixed, &t));
  CHECK(gr_csv_find(&t, "a") == 0, "column a");
  gr_vocab v;
  fixture_text(path = fixture_path("mark.txt"),
               "\xef\xbb\xbf"
               "x\ny\n");
  MUST(gr_vocab_read(a, path, -1, &v));
  CHECK(v.n == 3 && !strcmp(v.symbols[0], "x"), "symbol '%s'", v.symbols[0]);
  gr_manifest m;
  fixture_text(path = fixture_path("mark.jsonl"),
               "\xef\xbb\xbf"
               "{\"audio_path\": \"a.wav\", \"text\": \"a\"}\n");
  MUST(gr_manifest_read(a, path, NULL, &m));
  CHECK(m.n == 1 && !strcmp(m.items[0].text, "a"), "%u utterances", m.n);
  gr_arena_destroy(a);
}

// The blank has a name that a transcript may spell: it is never read from one, nor printed.
static void the_blank_is_no_text(void) {
  gr_arena *a = gr_arena_create();
  for (int32_t blank = 0; blank < 4; blank++) {
    gr_vocab v;
    int32_t *ids, n, all[] = {0, 1, 2, 3};
    const char *bad;
    MUST(gr_vocab_make(a, "ab<", blank, &v));
    gr_text t = gr_text_make(a);
    gr_vocab_decode(&v, all, 4, &t);
    CHECK(!strcmp(t.chars, "ab<"), "blank %d: '%s'", blank, t.chars);
    gr_vocab_encode(a, &v, "a<blank>b", true, &ids, &n, &bad);
    for (int i = 0; i < n; i++) CHECK(ids[i] != blank, "blank %d is id %d", blank, i);
    gr_text again = gr_text_make(a);
    gr_vocab_decode(&v, ids, (size_t)n, &again);
    CHECK(!strcmp(again.chars, "a<bab"), "the letters of its name: '%s'", again.chars);
  }
  gr_arena_destroy(a);
}

// ---- Damaged once they are listed ---------------------------------------------------------------

static gr_status read_epoch(gr_dataset *d, double *weights) {
  gr_loader_spec spec = {
      .split = GR_SPLIT_TRAIN, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  *weights = 0;
  GR_TRY(gr_loader_open(d, &spec, &l));
  gr_status s = gr_loader_next(l, &b);
  for (; b && !s; s = gr_loader_next(l, &b))
    for (int i = 0; i < b->rows; i++)
      *weights += ((const float *)fixture_field(b, "weight", &t))[i];
  gr_loader_close(l);
  return s;
}

typedef enum damage { REMOVED, EMPTY, CUT, A_FOLDER, DAMAGES } damage;

static void damage_file(const char *path, damage how) {
  struct stat st;
  CHECK(!stat(path, &st), "%s is there", path);
  if (how == REMOVED || how == A_FOLDER) remove(path);
  if (how == A_FOLDER) mkdir(path, 0777);
  if (how == EMPTY || how == CUT)
    CHECK(!truncate(path, how == CUT ? st.st_size / 2 : 0), "cannot cut %s", path);
}

// Two samples of three are as they were.
static void damaged(const gr_source_ops *ops, const void *spec, const char *path, bool skip,
                    damage how, int line) {
  gr_dataset_options o = {.n_buckets = 1, .length_multiple = 1, .skip_unreadable = skip};
  gr_dataset *d;
  double weights;
  MUST(gr_dataset_create(ops, spec, &o, &d));
  damage_file(path, how);
  gr_status s = read_epoch(d, &weights);
  if (skip) {
    MUST(s);
    CHECK(weights == 2 && gr_dataset_unreadable(d) == 1, "%g samples, %d unreadable", weights,
          (int)gr_dataset_unreadable(d));
  } else {
    CHECK(s && strstr(gr_status_text(s), path), "%s is named: %s", path, gr_status_text(s));
    CHECK(gr_status_loc(s).line == line, "line %d, not %d", gr_status_loc(s).line, line);
    gr_status_drop(s);
  }
  gr_dataset_close(d);
  if (how == A_FOLDER) rmdir(path);
}

static void recordings_after_listing(void) {
  for (int how = 0; how < DAMAGES; how++)
    for (int skip = 0; skip < 2; skip++) {
      fixture_data f = fixture_spec(fixture_corpus("listed", 3));
      damaged(&gr_source_speech, &f.speech, fixture_path("listed-u001.wav"), skip, (damage)how, 2);
    }
}

static void images_after_listing(void) {
  const char *list = fixture_path("pictures.csv");
  fixture_text(list, "path,label\np0.pgm,a\np1.pgm,b\np2.pgm,a\n");
  gr_image_spec spec = {.path = list, .height = 2, .width = 2, .channels = 1};
  for (int how = 0; how < DAMAGES; how++)
    for (int skip = 0; skip < 2; skip++) {
      for (int i = 0; i < 3; i++)
        fixture_text(fixture_path("p%d.pgm", i), "P5 4 4 255\n0123456789abcdef");
      damaged(&gr_source_image, &spec, fixture_path("p1.pgm"), skip, (damage)how, 3);
    }
}

// ---- Borders of a text --------------------------------------------------------------------------

static gr_status open_text(gr_corpus_spec *spec, const char **paths, const char *const *texts,
                           int n, gr_dataset **out) {
  gr_dataset_options o = {.n_buckets = 1};
  for (int i = 0; i < n; i++) fixture_text(paths[i] = fixture_path("t%d.txt", i), texts[i]);
  spec->paths = (gr_names){paths, n};
  return gr_dataset_create(&gr_source_corpus, spec, &o, out);
}

// The last token of a text is the last target, and a token less is a sample less; files of no bytes
// are between others.
static void windows_end_with_the_text(void) {
  static const struct {
    const char *texts[3];
    uint32_t samples;
    char last;  // target of the last sample
  } cases[] = {{{"abcd", "efghi", ""}, 2, 'i'},    {{"abcd", "", "efgh"}, 1, 'e'},
               {{"", "abcde", ""}, 1, 'e'},        {{"a", "bcdefghijkl", "m"}, 3, 'm'},
               {{"abcdefghijkl", "", ""}, 2, 'i'}, {{"abcdefghijklm", "", ""}, 3, 'm'}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_corpus_spec spec = {.vocab = "bytes", .context = 4};
    gr_loader_spec how = {
        .split = GR_SPLIT_TRAIN, .batch = 1, .ranks = 1, .epochs = 1, .prefetch = 1};
    const char *paths[3];
    gr_dataset *d;
    gr_loader *l;
    const gr_batch *b;
    gr_type t;
    int32_t last = 0;
    MUST(open_text(&spec, paths, cases[i].texts, 3, &d));
    uint32_t n = gr_dataset_count(d, GR_SPLIT_TRAIN);
    CHECK(n == cases[i].samples, "text %d: %u samples", (int)i, n);
    MUST(gr_loader_open(d, &how, &l));
    for (;;) {
      MUST(gr_loader_next(l, &b));
      if (!b) break;
      const int32_t *y = fixture_field(b, "y", &t);
      if (y[3] > last) last = y[3];
    }
    CHECK(last == cases[i].last, "text %d: the last target is '%c'", (int)i, last);
    gr_loader_close(l);
    gr_dataset_close(d);
  }
}

static void a_text_of_one_window(void) {
  static const char *const whole[] = {"abcde"}, *const short_of[] = {"abcd"}, *const none[] = {""};
  gr_corpus_spec spec = {.vocab = "bytes", .context = 4, .shift = true};
  const char *paths[1];
  gr_dataset *d;
  double weights;
  MUST(open_text(&spec, paths, whole, 1, &d));
  MUST(read_epoch(d, &weights));
  CHECK(weights == 1, "%g samples", weights);
  gr_dataset_close(d);
  fixture_fails(open_text(&spec, paths, short_of, 1, &d), GR_ERR_DATA, 0, "has 4 tokens");
  fixture_fails(open_text(&spec, paths, none, 1, &d), GR_ERR_DATA, 0, "has 0 tokens");
}

// ---- The cache ----------------------------------------------------------------------------------

// As many samples are kept as fit, to the byte; and what is kept is not read again.
static void cache_is_full_at_its_limit(void) {
  enum { SAMPLES = 4, BYTES = 4 };
  const char *list = fixture_path("cached.csv");
  fixture_text(list, "path,label\nc0.pgm,a\nc1.pgm,b\nc2.pgm,a\nc3.pgm,b\n");
  gr_image_spec spec = {.path = list, .height = 2, .width = 2, .channels = 1};
  for (size_t limit = 0; limit <= (SAMPLES + 1) * BYTES; limit++) {
    gr_dataset_options o = {.n_buckets = 1, .skip_unreadable = true, .cache_bytes = limit};
    size_t fit = limit / BYTES < SAMPLES ? limit / BYTES : SAMPLES;
    gr_dataset *d;
    double weights;
    for (int i = 0; i < SAMPLES; i++) fixture_text(fixture_path("c%d.pgm", i), "P5 2 2 255\nabcd");
    MUST(gr_dataset_create(&gr_source_image, &spec, &o, &d));
    CHECK(!gr_dataset_cached(d), "nothing yet");
    MUST(read_epoch(d, &weights));
    CHECK(gr_dataset_cached(d) == fit * BYTES, "limit %zu: %zu bytes", limit, gr_dataset_cached(d));
    for (int i = 0; i < SAMPLES; i++) remove(fixture_path("c%d.pgm", i));
    gr_status s = read_epoch(d, &weights);
    CHECK(!s == (fit > 0), "limit %zu", limit);
    CHECK(!fit || weights == (double)fit, "limit %zu: %g samples without their files", limit,
          weights);
    gr_status_drop(s);
    gr_dataset_close(d);
  }
}

static size_t keepable, left;
static size_t all_keepable(const void *self) { return (void)self, keepable; }
static void note_left(const void *self, size_t bytes) { (void)self, left = bytes; }

// Where some samples have no room, what their source keeps of files has all that it takes, but half
// of the cache at most. Where all have some, they come first.
static void cache_spares_room_for_the_source(void) {
  enum { SAMPLES = 4, BYTES = 4 };
  static const struct {
    size_t limit, keepable, fit;
  } cases[] = {{16, 99, 4}, {15, 0, 3}, {15, 3, 3}, {15, 4, 2}, {15, 7, 2}, {15, 99, 2}, {0, 9, 0}};
  gr_source_ops ops = gr_source_image;
  gr_image_spec spec = {.path = fixture_path("spared.csv"), .height = 2, .width = 2, .channels = 1};
  ops.keep = note_left, ops.keepable = all_keepable;
  fixture_text(spec.path, "path,label\ns0.pgm,a\ns1.pgm,b\ns2.pgm,a\ns3.pgm,b\n");
  for (int i = 0; i < SAMPLES; i++) fixture_text(fixture_path("s%d.pgm", i), "P5 2 2 255\nabcd");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_dataset_options o = {.n_buckets = 1, .cache_bytes = cases[i].limit};
    gr_dataset *d;
    double weights;
    left = cases[i].limit, keepable = cases[i].keepable;
    MUST(gr_dataset_create(&ops, &spec, &o, &d));
    MUST(read_epoch(d, &weights));
    CHECK(gr_dataset_cached(d) == cases[i].fit * BYTES && weights == SAMPLES,
          "of %zu, where the source takes %zu, samples have %zu", cases[i].limit, keepable,
          gr_dataset_cached(d));
    CHECK(left + cases[i].fit * BYTES == cases[i].limit, "%zu are left", left);
    gr_dataset_close(d);
  }
}

// After the first epoch nothing is read again, and workers finish batches without being asked, also
// those of the next epoch: the step that comes late waits for none. Not a matter of time: this
// waits until a batch is ready.
static void ready_before_it_is_asked_for(void) {
  enum { SAMPLES = 5, EPOCHS = 3 };
  const char *list = fixture_path("ready.csv");
  fixture_text(list, "path,label\nr0.pgm,a\nr1.pgm,b\nr2.pgm,a\nr3.pgm,b\nr4.pgm,a\n");
  for (int i = 0; i < SAMPLES; i++) fixture_text(fixture_path("r%d.pgm", i), "P5 2 2 255\nabcd");
  gr_image_spec spec = {.path = list, .height = 2, .width = 2, .channels = 1};
  gr_dataset_options o = {.n_buckets = 1, .cache_bytes = 1 << 10};
  gr_loader_spec how = {.split = GR_SPLIT_TRAIN,
                        .batch = 2,
                        .ranks = 1,
                        .epochs = EPOCHS,
                        .workers = 2,
                        .prefetch = 2};
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  double weights;
  MUST(gr_dataset_create(&gr_source_image, &spec, &o, &d));
  MUST(read_epoch(d, &weights));
  for (int i = 0; i < SAMPLES; i++) remove(fixture_path("r%d.pgm", i));
  MUST(gr_loader_open(d, &how, &l));
  for (int i = 0; i < EPOCHS * 3; i++) {
    while (!gr_loader_ready(l)) sched_yield();
    MUST(gr_loader_next(l, &b));
    CHECK(b && b->epoch == (uint32_t)i / 3, "batch %d", i);
  }
  CHECK(gr_loader_ready(l), "the end is ready");
  MUST(gr_loader_next(l, &b));
  CHECK(!b, "the end");
  gr_loader_close(l);
  how.workers = 0;
  MUST(gr_loader_open(d, &how, &l));
  CHECK(!gr_loader_ready(l), "no worker builds it");
  gr_loader_close(l);
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"utf16_is_refused", utf16_is_refused},
             {"byte_order_marks_are_passed_over", byte_order_marks_are_passed_over},
             {"the_blank_is_no_text", the_blank_is_no_text},
             {"recordings_after_listing", recordings_after_listing},
             {"images_after_listing", images_after_listing},
             {"windows_end_with_the_text", windows_end_with_the_text},
             {"a_text_of_one_window", a_text_of_one_window},
             {"cache_is_full_at_its_limit", cache_is_full_at_its_limit},
             {"cache_spares_room_for_the_source", cache_spares_room_for_the_source},
             {"ready_before_it_is_asked_for", ready_before_it_is_asked_for});
}
