// test_join.c - joined sources: what is a sample, how fields, numbers and statistics of parts stand
// side by side, and what cannot be joined.
#include "runtime/data/join.h"
#include "runtime/data/table/table.h"
#include "runtime/data/texts/texts.h"
#include "tests/runtime/data/images.h"

// Images, texts and numbers of the rows of one list. Files are gray images of one value each.
static const char rows[] =
    "path,words,mood,size,cost\n"
    "p10.pgm,ab,good,1,5\n"
    "p20.pgm,,bad,2,6\n"
    "p30.pgm,abcd,bad,3,7\n"
    "p40.pgm,a,good,4,8\n";

static gr_arena *arena;
static images pictures;
static gr_texts_spec texts;
static gr_table_spec table;
static gr_dataset_options options;

static const char *list_of(const char *name, const char *content) {
  const char *path = fixture_path("%s", name);
  fixture_text(path, content);
  return path;
}

static gr_names one_name(const char *name) {
  const char **items = GR_NEW(arena, const char *, 1);
  items[0] = name;
  return (gr_names){items, 1};
}

static void of_list(const char *path) {
  char name[32];
  for (int v = 10; v <= 40; v += 10) {
    unsigned char all[64];
    int n = snprintf((char *)all, sizeof all, "P5\n%d %d\n255\n", W, H);
    memset(all + n, v, W * H);
    snprintf(name, sizeof name, "p%d.pgm", v);
    fixture_bytes(fixture_path("%s", name), all, (size_t)(n + W * H));
  }
  pictures = (images){.spec = {path, NULL, H, W, GR_PICTURE_STRETCH, 1, .unlabelled = true}};
  texts = (gr_texts_spec){.path = path,
                          .text = "words",
                          .label = "mood",
                          .max_tokens = 9,
                          .max_target_tokens = 9,
                          .csv = {.header = true, .section = "data.texts"}};
  texts.csv.texts[0] = "words";
  table = (gr_table_spec){.paths = one_name(path),
                          .features = one_name("size"),
                          .label = "cost",
                          .label_is = GR_LABEL_VALUE,
                          .normalize = true,
                          .csv = {.header = true, .section = "data.table"}};
  options = (gr_dataset_options){.n_buckets = 2, .cache_bytes = 1 << 20};
}

static const void *spec_of(const gr_source_ops *ops) {
  return ops == &gr_source_image   ? (const void *)&pictures.spec
         : ops == &gr_source_texts ? (const void *)&texts
                                   : (const void *)&table;
}

// Opens the sources, joined: two or three of them.
static gr_status open_joined(const gr_source_ops *a, const gr_source_ops *b, const gr_source_ops *c,
                             gr_dataset **out) {
  const gr_source_ops **parts = GR_NEW(arena, const gr_source_ops *, 3);
  const void **specs = GR_NEW(arena, const void *, 3);
  parts[0] = a, parts[1] = b, parts[2] = c;
  for (int i = 0; i < 3; i++) specs[i] = parts[i] ? spec_of(parts[i]) : NULL;
  return gr_dataset_create(gr_join_ops(arena, parts, c ? 3 : 2), specs, &options, out);
}

// The rows of a split: the first value of x, of a text its letters, the class and the value.
static void put_rows(gr_dataset *d, const char *text, char *out, size_t size) {
  gr_loader_spec spec = {.batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t, of;
  size_t n = 0;
  char all[4][80] = {{0}};
  MUST(gr_loader_open(d, &spec, &l));
  for (int k = 0; k < gr_dataset_buckets(d); k++) {
    MUST(gr_loader_next(l, &b));
    if (!b) break;
    const unsigned char *x = fixture_field(b, "x", &t);
    const int32_t *words = fixture_field(b, text, &t), *y = fixture_field(b, "y", &of);
    const float *cost = fixture_field(b, "table_y", &of),
                *size_of = fixture_field(b, "table_x", &of);
    for (int i = 0; i < b->rows; i++) {
      if (b->sample[i] == GR_NO_SAMPLE) continue;
      char letters[16] = {0};
      for (int64_t c = 0; c < t.dim[1]; c++) letters[c] = (char)words[i * t.dim[1] + c];
      snprintf(all[b->sample[i]], sizeof *all, "%d %s %d %g %.2f;", x[i * H * W], letters, y[i],
               (double)cost[i], (double)size_of[i]);
    }
  }
  for (int i = 0; i < 4; i++) n += (size_t)snprintf(out + n, size - n, "%s", all[i]);
  gr_loader_close(l);
}

static void expect_rows(gr_dataset *d, const char *text, const char *want) {
  char found[400];
  put_rows(d, text, found, sizeof found);
  CHECK(!strcmp(found, want), "'%s', not '%s'", found, want);
}

// The row without words is none of the join's, and the statistics are those of the others.
static void side_by_side(void) {
  static const char want[] = "10 ab 1 5 -1.34;30 abcd 0 7 0.27;40 a 1 8 1.07;";
  gr_dataset *d, *again;
  of_list(list_of("all.csv", rows));
  MUST(open_joined(&gr_source_image, &gr_source_texts, &gr_source_table, &d));
  CHECK(gr_dataset_samples(d) == 3, "%u samples", gr_dataset_samples(d));
  expect_rows(d, "texts_x", want);
  gr_text said = gr_text_make(arena), kept = gr_text_make(arena), names = gr_text_make(arena);
  CHECK(gr_dataset_skipped(d, &said), "one is skipped");
  CHECK(strstr(said.chars, "skipped 1 of 4 rows: 1 that one of the joined sources has no sample"),
        "%s", said.chars);
  gr_dataset_json(d, &names);
  for (const char *const *part =
           (const char *const[]){"\"source\": \"image+texts+table\"", "\"height\": 2",
                                 "\"vocab\": 256", "\"features\": 1", "\"class_names\": [\"bad\"",
                                 "\"texts\": {\"class_names\"", "\"table\": {\"features\"", NULL};
       *part; part++)
    CHECK(strstr(names.chars, *part), "%s is not in %s", *part, names.chars);
  CHECK(gr_dataset_save(d, &kept), "it has statistics");
  CHECK(!strcmp(gr_dataset_sample_name(arena, d, 1), "p30.pgm"), "the first part's name");
  CHECK(!strcmp(gr_dataset_reference(arena, d, 1), "bad"), "the class");
  options.limit = 3, options.skip_unreadable = true;
  MUST(open_joined(&gr_source_image, &gr_source_texts, &gr_source_table, &again));
  CHECK(gr_dataset_samples(again) == 2, "%u samples", gr_dataset_samples(again));
  MUST(gr_dataset_restore(again, kept.chars));
  expect_rows(again, "texts_x", "10 ab 1 5 -1.34;30 abcd 0 7 0.27;");
  gr_text changed = gr_text_make(arena);
  gr_dataset_changed(again, &changed);
  CHECK(strstr(changed.chars, "rows that data.limit=3 leaves out: 1 ("), "%s", changed.chars);
  fixture_fails(gr_dataset_restore(again, "3 abc"), GR_ERR_CHECKPOINT, 0, "joined sources");
  gr_dataset_close(again);
  gr_dataset_close(d);
}

// A row that a source cannot read is counted as that alone.
static void unreadable(void) {
  gr_dataset *d;
  gr_text said = gr_text_make(arena);
  of_list(list_of("gaps.csv", "path,words,mood\np10.pgm,ab,good\np20.pgm,cd,\np30.pgm,ef,bad\n"));
  options.skip_unreadable = true;
  MUST(open_joined(&gr_source_image, &gr_source_texts, NULL, &d));
  CHECK(gr_dataset_samples(d) == 2, "%u samples", gr_dataset_samples(d));
  CHECK(gr_dataset_skipped(d, &said), "one is skipped");
  CHECK(strstr(said.chars, "skipped 1 of 3 rows: 1 unreadable"), "%s", said.chars);
  gr_dataset_close(d);
}

// The first source's x is x, and lengths are those of the first that has them.
static void other_orders(void) {
  gr_dataset *d;
  gr_type t;
  gr_loader *l;
  const gr_batch *b;
  of_list(list_of("order.csv", rows));
  pictures.spec.path = fixture_path("./order.csv");  // the same file
  texts.label = NULL;
  MUST(open_joined(&gr_source_texts, &gr_source_image, NULL, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const int32_t *words = fixture_field(b, "x", &t);
  CHECK(t.dtype == GR_I32 && t.dim[1] == b->field[0].type.dim[1] && words[0] == 'a', "texts");
  fixture_field(b, "image_x", &t);
  CHECK(t.dtype == GR_U8 && t.rank == 4, "images");
  CHECK(gr_dataset_buckets(d) == 2 && !strcmp(gr_dataset_reference(arena, d, 0), ""), "no labels");
  gr_loader_close(l);
  gr_dataset_close(d);
}

// A text that is to be written of an image: buckets are of its lengths.
static void written(void) {
  gr_dataset *d;
  gr_type t;
  gr_loader *l;
  const gr_batch *b;
  of_list(list_of("write.csv", rows));
  texts.text = NULL, texts.label = NULL, texts.target = "words";
  MUST(open_joined(&gr_source_image, &gr_source_texts, NULL, &d));
  CHECK(gr_dataset_samples(d) == 3 && gr_dataset_buckets(d) == 2, "%u samples in %d buckets",
        gr_dataset_samples(d), gr_dataset_buckets(d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const int32_t *tokens = fixture_field(b, "targets", &t);
  CHECK(t.dim[1] == gr_dataset_bucket(d, b->bucket)->length && tokens[0] == 'a', "targets");
  CHECK(!strcmp(gr_dataset_reference(arena, d, 1), "abcd"), "its text");
  CHECK(gr_dataset_has_texts(d), "what is expected are texts");
  gr_loader_close(l);
  gr_dataset_close(d);
}

// Recordings first: lengths of texts are extents of their buckets.
static void two_lengths(void) {
  gr_dataset *d;
  gr_type t;
  gr_loader *l;
  const gr_batch *b;
  const char *manifest = fixture_corpus("talk", 6);
  of_list(manifest);
  texts.text = "text", texts.label = NULL, texts.csv.texts[0] = "text";
  fixture_data speech = fixture_spec(manifest);
  const gr_source_ops *parts[] = {&gr_source_speech, &gr_source_texts};
  const void *specs[] = {&speech.speech, &texts};
  options = speech.options, options.n_buckets = 1;
  MUST(gr_dataset_create(gr_join_ops(arena, parts, 2), specs, &options, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  int32_t most = 0;
  const int32_t *of_text = fixture_field(b, "texts_lengths", &t);
  for (int i = 0; i < b->rows; i++) most = of_text[i] > most ? of_text[i] : most;
  fixture_field(b, "texts_x", &t);
  CHECK(t.dim[1] == most && most > 1, "texts of %d tokens in %d", most, (int)t.dim[1]);
  fixture_field(b, "x", &t);
  CHECK(t.dtype == GR_F32 && t.dim[1] == gr_dataset_bucket(d, b->bucket)->length, "frames");
  gr_loader_close(l);
  gr_dataset_close(d);
}

// Recordings and images of a row are both loaded.
static void two_loaded(void) {
  gr_dataset *d;
  gr_type t;
  gr_loader *l;
  const gr_batch *b;
  (void)fixture_corpus("talks", 2);
  of_list(
      list_of("both.jsonl",
              "{\"audio_path\": \"talks-u000.wav\", \"text\": \"ab\", \"path\": \"p30.pgm\"}\n"
              "{\"audio_path\": \"talks-u001.wav\", \"text\": \"ba\", \"path\": \"p40.pgm\"}\n"));
  fixture_data speech = fixture_spec(pictures.spec.path);
  const gr_source_ops *parts[] = {&gr_source_speech, &gr_source_image};
  const void *specs[] = {&speech.speech, &pictures.spec};
  options = speech.options, options.n_buckets = 1;
  MUST(gr_dataset_create(gr_join_ops(arena, parts, 2), specs, &options, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const unsigned char *pixels = fixture_field(b, "image_x", &t);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < H * W; k++)
      CHECK(pixels[i * H * W + k] == 30 + 10 * (int)b->sample[i], "pixel %d",
            pixels[i * H * W + k]);
  // Features are those of the recordings alone.
  gr_dataset *alone;
  gr_loader *of_alone;
  const gr_batch *other;
  speech.options.n_buckets = 1;
  MUST(fixture_open(&speech, &alone));
  first_batch(alone, GR_SPLIT_TRAIN, &of_alone, &other);
  const void *x = fixture_field(b, "x", &t), *want = fixture_field(other, "x", &t);
  CHECK(!memcmp(x, want, gr_type_bytes(&t)), "features");
  gr_loader_close(of_alone);
  gr_dataset_close(alone);
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void refuses(const gr_source_ops *a, const gr_source_ops *b, int line, const char *why) {
  gr_dataset *d = NULL;
  gr_code code = strstr(why, "both have") ? GR_ERR_CONFIG : GR_ERR_DATA;
  fixture_fails(open_joined(a, b, NULL, &d), code, line, why);
}

static void cannot_be_joined(void) {
  of_list(list_of("bad.csv", rows));
  texts.path = list_of("other.csv", "words,mood\nab,good\ncd,bad\n");
  refuses(&gr_source_image, &gr_source_texts, 0, "no row has a sample of each");
  of_list(list_of("bad.csv", rows));
  table.eval = one_name(list_of("more.csv", rows));
  refuses(&gr_source_image, &gr_source_table, 1, "has rows for the source 'table', and none for");
  of_list(list_of("bad.csv", rows));
  pictures.spec.unlabelled = false, pictures.spec.labels.label = "mood";
  refuses(&gr_source_image, &gr_source_texts, 0, "'image' and 'texts' both have classes");
  of_list(list_of("bad.csv", rows));
  pictures.spec.path = fixture_path("pics/");
  make_folder("pics"), save("pics/a.pgm", W, 5);
  refuses(&gr_source_image, &gr_source_texts, 0, "'image' are not listed by rows");
  of_list(list_of("bad.csv", rows));
  table.features = one_name("size"), table.channels = GR_CHANNELS_NONE;
  table.window = 2, table.stride = 1;  // a window is of the row that it begins in
  pictures.spec.labels.label = NULL;
  gr_dataset *d;
  MUST(open_joined(&gr_source_image, &gr_source_table, NULL, &d));
  CHECK(gr_dataset_samples(d) == 3, "%u windows", gr_dataset_samples(d));
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int code = RUN(argc, argv, {"side_by_side", side_by_side}, {"unreadable", unreadable},
                 {"other_orders", other_orders}, {"written", written}, {"two_lengths", two_lengths},
                 {"two_loaded", two_loaded}, {"cannot_be_joined", cannot_be_joined});
  gr_arena_destroy(arena);
  return code;
}
