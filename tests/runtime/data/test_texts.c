// test_texts.c - texts with a class or a text to write: rows of CSV, JSON lines and Parquet to
// tokens, and what is refused.
#include "runtime/data/loader.h"
#include "runtime/data/texts/texts.h"
#include "tests/runtime/data/fixture.h"

typedef struct texts {
  gr_texts_spec spec;
  gr_dataset_options options;
} texts;

static texts texts_of(const char *path) {
  return (texts){.spec = {.path = path,
                          .text = "text",
                          .label = "label",
                          .max_tokens = 9,
                          .max_target_tokens = 4,
                          .csv = {.header = true, .section = "data.texts"}},
                 .options = {.n_buckets = 1, .validation_fraction = 0}};
}

static gr_status open_texts(const texts *t, gr_dataset **out) {
  return gr_dataset_create(&gr_source_texts, &t->spec, &t->options, out);
}

// The texts of a split, as bytes, with their class: "ab=1 c=0 ".
static void put_batch(gr_dataset *d, gr_split split, char *out, size_t size) {
  gr_loader_spec spec = {.split = split, .batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  size_t n = 0;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const int32_t *lengths = fixture_field(b, "lengths", &t), *y = fixture_field(b, "y", &t);
  const int32_t *x = fixture_field(b, "x", &t);
  for (uint32_t k = 0; k < gr_dataset_count(d, split); k++)  // in the order of the list
    for (int i = 0; i < b->rows; i++) {
      if (b->sample[i] == GR_NO_SAMPLE || b->sample[i] != k) continue;
      for (int c = 0; c < lengths[i]; c++) out[n++] = (char)x[i * t.dim[1] + c];
      for (int64_t c = lengths[i]; c < t.dim[1]; c++) CHECK(!x[i * t.dim[1] + c], "padding");
      n += (size_t)snprintf(out + n, size - n, "=%d ", y[i]);
    }
  out[n] = 0;
  gr_loader_close(l);
}

static void reads(const char *name, const char *content, const char *expected) {
  char found[400];
  gr_dataset *d;
  texts t = texts_of(fixture_path("%s", name));
  fixture_text(t.spec.path, content);
  MUST(open_texts(&t, &d));
  put_batch(d, GR_SPLIT_TRAIN, found, sizeof found);
  CHECK(!strcmp(found, expected), "%s: '%s', not '%s'", name, found, expected);
  gr_dataset_close(d);
}

static void reads_rows(void) {
  reads("a.csv", "text,label\n\"a, \"\"b\"\"\",good\nNA,bad\n", "a, \"b\"=1 NA=0 ");
  reads("a.tsv", "label\ttext\ngood\ta, b\nbad\tb\n", "a, b=1 b=0 ");
  reads("a.jsonl",
        "{\"text\": \"a\\n\\\"b\\\"\", \"label\": \"good\", \"id\": 7}\n\n"
        "{\"label\": \"bad\", \"text\": \"12\"}\r\n",
        "a\n\"b\"=1 12=0 ");
  reads("b.jsonl", "{\"text\": \"a\", \"label\": 10}\n{\"text\": \"b\", \"label\": 9}\n",
        "a=1 b=0 ");
  reads("c.jsonl", "{\"text\": \"007\", \"label\": 1}\n{\"text\": \"1e3\", \"label\": 0}\n",
        "007=1 1e3=0 ");
  reads("long.csv", "text,label\n0123456789,1\n\xc3\xa4,0\n", "012345678=1 \xc3\xa4=0 ");
}

// Texts of Parquet, of two files, and of another file for validation.
static void reads_files(void) {
  gr_dataset *d;
  texts t = texts_of(GR_GOLDEN "/parquet_samples/kinds-*.parquet");
  t.spec.text = "name", t.spec.label = "kind", t.spec.eval = GR_GOLDEN "/parquet_samples/kinds.csv";
  MUST(open_texts(&t, &d));
  CHECK(
      gr_dataset_count(d, GR_SPLIT_TRAIN) == 240 && gr_dataset_count(d, GR_SPLIT_VALIDATION) == 240,
      "240 rows for training, and the same for validation");
  gr_dataset_close(d);
}

static void reads_splits(void) {
  gr_dataset *d;
  char found[100];
  texts t = texts_of(fixture_path("split.csv"));
  fixture_text(t.spec.path, "text,label,part\na,1,train\nb,0,validation\n,1,train\nc,0,train\n");
  t.spec.split = "part";
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 2 && gr_dataset_count(d, GR_SPLIT_VALIDATION) == 1,
        "an empty text is no sample");
  gr_dataset_close(d);
  t.spec.split = NULL, t.options.limit = 2;
  MUST(open_texts(&t, &d));
  put_batch(d, GR_SPLIT_TRAIN, found, sizeof found);
  CHECK(!strcmp(found, "a=1 b=0 "), "the first two: '%s'", found);
  gr_dataset_close(d);
}

// One token more than the last bound is too many: such a text is left out, and not cut.
static void keeps_to_bounds(void) {
  static const int32_t bounds[] = {3, 5};
  gr_dataset *d;
  texts t = texts_of(fixture_path("bounds.csv"));
  fixture_text(t.spec.path, "text,label\nabcdef,1\nabc,1\nabcde,0\n");
  t.options.bounds = bounds, t.options.n_buckets = 2;
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_samples(d) == 2 && d->too_long.n == 1, "%u are kept, %u left out",
        gr_dataset_samples(d), (unsigned)d->too_long.n);
  CHECK(gr_dataset_sample(d, 0)->length == 3 && gr_dataset_sample(d, 1)->length == 5, "of them");
  gr_dataset_close(d);
}

// ---- Texts to write -----------------------------------------------------------------------------

static const int32_t before[] = {2}, behind[] = {3, 4};

static texts pairs_of(const char *path) {
  texts t = texts_of(path);
  t.spec.target = "answer";
  t.spec.around = (gr_target_text){{before, 1}, {behind, 2}};
  return t;
}

// A field of row i is these numbers, and then padding.
static void has(const gr_batch *b, const char *field, int i, const char *tokens, int n, int pad) {
  gr_type t;
  const int32_t *found = fixture_field(b, field, &t);
  CHECK(t.rank == 2 && t.dim[1] >= n, "%s has %d of %d", field, (int)t.dim[1], n);
  for (int k = 0; k < t.dim[1]; k++) {
    int want = k < n ? tokens[k] : pad;
    CHECK(found[i * t.dim[1] + k] == want, "%s[%d][%d] is %d, not %d", field, i, k,
          found[i * t.dim[1] + k], want);
  }
}

// A target that is cut is compared as a whole, and one without a token leaves out its row.
static void reads_pairs(void) {
  gr_loader_spec spec = {
      .split = GR_SPLIT_TRAIN, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type type;
  gr_arena *a = gr_arena_create();
  gr_text decoded = gr_text_make(a);
  texts t = pairs_of(fixture_path("pairs.csv"));
  fixture_text(t.spec.path, "text,answer\nab,xy\nc234567890,\nd,vwxyz\n");
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_samples(d) == 2 && d->skipped[GR_TEXTS_UNANSWERED].n == 1, "one has no answer");
  CHECK(d->skipped[GR_TEXTS_TARGET_CUT].n == 1 && !d->skipped[GR_TEXTS_CUT].n, "one is cut");
  CHECK(gr_dataset_has_texts(d) && !strcmp(gr_dataset_reference(a, d, 1), "vwxyz"),
        "what is compared");
  gr_dataset_decode(d, (const int32_t[]){'x', 'y'}, 2, &decoded);
  CHECK(!strcmp(decoded.chars, "xy"), "'%s'", decoded.chars);
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  CHECK(b->rows == 2, "%d rows", b->rows);
  for (int i = 0; i < 2; i++) {
    bool cut = b->sample[i] == 1;
    has(b, "x", i, cut ? "d" : "ab", cut ? 1 : 2, 0);
    has(b, "targets", i, cut ? "vwxy" : "xy", cut ? 4 : 2, 0);
    has(b, "decoder_inputs", i, cut ? "\2vwxy\3" : "\2xy\3", cut ? 6 : 4, 0);
    has(b, "labels", i, cut ? "vwxy\3\4" : "xy\3\4", cut ? 6 : 4, GR_NO_LABEL);
    CHECK(((const int32_t *)fixture_field(b, "target_lengths", &type))[i] == (cut ? 4 : 2),
          "length");
  }
  gr_loader_close(l);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

// Ranks that read other answers to the same texts are told apart; equal texts are in one split.
static void knows_pairs(void) {
  gr_dataset *d;
  texts t = pairs_of(fixture_path("same.csv"));
  fixture_text(t.spec.path, "text,answer\nab,x\nab,y\n");
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_fingerprint(d, 0, false) != gr_dataset_fingerprint(d, 1, false), "fingerprints");
  gr_dataset_close(d);
  t.options.validation_fraction = 0.5;
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_sample(d, 0)->split == gr_dataset_sample(d, 1)->split, "one split");
  gr_dataset_close(d);
}

// Texts of JSON lines that are numbers in quotes are texts, as they are written, in both columns.
static void numbers_in_quotes(void) {
  gr_dataset *d;
  texts t = pairs_of(fixture_path("quoted.jsonl"));
  fixture_text(t.spec.path, "{\"text\": \"1\", \"answer\": \"007\"}\n");
  MUST(open_texts(&t, &d));
  CHECK(gr_dataset_bucket(d, 0)->extent[2] == 3, "007 has three bytes");
  gr_dataset_close(d);
}

// The token that ends a text is counted where it is within one, and not behind it.
static void ends_early(void) {
  gr_dataset *d;
  texts t = pairs_of(fixture_path("early.csv"));
  fixture_text(t.spec.path, "text,answer\na,xy\nb,x\3y\nc,x\3\nd,\4x\n");
  MUST(open_texts(&t, &d));
  const gr_omitted *early = &d->skipped[GR_TEXTS_ENDS_EARLY];
  CHECK(early->n == 1 && strstr(early->first, "early.csv:3"), "%d: %s", (int)early->n,
        early->first);
  gr_dataset_close(d);
}

static void refuses_pairs(void) {
  static const struct {
    const char *content, *message;
    int line;
  } cases[] = {
      {"text,label\na,1\n", "has no column 'answer'", 1},
      {"text,answer\na,1\nb,2\n", "the column 'answer' has a value here that is no text", 2},
      {"text,answer\na,\nb,\n", "2 without a text to write", 0},
      {"text,answer\na,x\nb,\xff\n", "0xff is not UTF-8", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_dataset *d;
    texts t = pairs_of(fixture_path("refused.csv"));
    fixture_text(t.spec.path, cases[i].content);
    fixture_fails(open_texts(&t, &d), GR_ERR_DATA, cases[i].line, cases[i].message);
  }
}

// ---- What is refused ----------------------------------------------------------------------------

static void refuses(void) {
  static const struct {
    const char *name, *content, *message;
    int line;
  } cases[] = {
      {"r.csv", "words,label\na,1\nb,0\n", "has no column 'text'", 1},
      {"r.csv", "text,y\na,1\nb,0\n", "has no column 'label'", 1},
      {"r.csv", "text,label\n1,1\n2,0\n", "no text", 2},
      {"r.csv", "text,label\na,1\nb,\n", "there is no label in this line", 3},
      {"r.csv", "text,label\na,1\n\xff,0\n", "0xff is not UTF-8", 3},
      {"r.csv", "text,label\na,1\nb,1\n", "all texts are of one class", 2},
      {"r.csv", "text,label\na,1\nb,1.5\n", "numbers with fractions", 1},
      {"r.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": 2, \"label\": 0}\n", "no text", 2},
      {"r.jsonl", "{\"text\": [\"a\"], \"label\": 1}\n", "no text", 1},
      {"r.jsonl", "{\"text\": \"a\"}\n", "has no column 'label'", 1},
      {"r.jsonl", "\n{\"text\": \"\xff\"}\n", "0xff is not UTF-8", 2},
      {"r.jsonl", "{\"text\": \"a\"\n", "expected ',' or '}'", 1},
      {"r.jsonl", "{}\n\"a\"\n", "expected one JSON object", 2},
      {"r.jsonl", "\n", "no lines with values", 1},
      {"r.npy", "", "", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_dataset *d;
    texts t = texts_of(fixture_path("%s", cases[i].name));
    fixture_text(t.spec.path, cases[i].content);
    fixture_fails(open_texts(&t, &d), GR_ERR_DATA, cases[i].line, cases[i].message);
  }
}

// Objects of few bytes with a key of their own each would become very many cells.
static void refuses_many_keys(void) {
  gr_dataset *d;
  gr_arena *a = gr_arena_create();
  gr_text all = gr_text_make(a);
  texts t = texts_of(fixture_path("keys.jsonl"));
  for (int i = 0; i < 3000; i++) gr_text_printf(&all, "{\"%d\":1}\n", i);
  fixture_text(t.spec.path, all.chars);
  fixture_fails(open_texts(&t, &d), GR_ERR_DATA, 0, "different keys");
  gr_arena_destroy(a);
}

// A program that reads an exported model of texts must know what its numbers are.
static void says_what_x_is(void) {
  gr_dataset *d;
  texts t = texts_of(fixture_path("said.csv"));
  gr_arena *a = gr_arena_create();
  gr_text said = gr_text_make(a);
  fixture_text(t.spec.path, "text,label\na,1\nb,0\n");
  MUST(open_texts(&t, &d));
  gr_dataset_preprocessing(d, &said);
  CHECK(strstr(said.chars, "the first 9 bytes in UTF-8 of a text"), "'%s'", said.chars);
  CHECK(!gr_dataset_has_texts(d), "classes are no texts to compare");
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

// Every kind of file that is predicted has a line of how x is computed.
static void all_sources_say_it(void) {
  for (const gr_source_ops *const *s = gr_data_sources; *s; s++)
    CHECK(!(*s)->inputs || (*s)->preprocessing, "'%s' does not say what its x is", (*s)->name);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_rows", reads_rows}, {"reads_files", reads_files},
             {"reads_splits", reads_splits}, {"keeps_to_bounds", keeps_to_bounds},
             {"reads_pairs", reads_pairs}, {"knows_pairs", knows_pairs},
             {"numbers_in_quotes", numbers_in_quotes}, {"ends_early", ends_early},
             {"refuses_pairs", refuses_pairs}, {"refuses", refuses},
             {"refuses_many_keys", refuses_many_keys}, {"says_what_x_is", says_what_x_is},
             {"all_sources_say_it", all_sources_say_it});
}
