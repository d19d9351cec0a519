// test_packed.c - images in Parquet files (golden/parquet_samples.py): their rows, labels and
// bytes, joined with texts of the same rows, and what is wrong with such files.
#include "runtime/data/join.h"
#include "runtime/data/table/table.h"
#include "runtime/data/texts/texts.h"
#include "tests/runtime/data/images.h"

#define SAMPLES GR_GOLDEN "/parquet_samples"

static images of_samples(const char *path) {
  images m = of_path("unused");
  m.spec.path = path;
  return m;
}

// The first pixel of each image, in the order of the list; the batch has all of them.
static void expect_pixels(gr_dataset *d, uint32_t n) {
  gr_loader_spec spec = {.batch = 16, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  CHECK(gr_dataset_samples(d) == n, "%u images", gr_dataset_samples(d));
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const unsigned char *x = fixture_field(b, "x", &t);
  for (uint32_t i = 0; i < n; i++)
    for (int k = 0; k < H * W; k++)
      CHECK(x[i * H * W + (uint32_t)k] == 10 * b->sample[i], "pixel %d of image %u is %d", k,
            b->sample[i], x[i * H * W + (uint32_t)k]);
  gr_loader_close(l);
}

static void classes(void) {
  static const size_t caches[] = {0, 1 << 20};
  images m = of_samples(SAMPLES "/images-[01].parquet");
  gr_arena *a = gr_arena_create();
  gr_dataset *d;
  for (int i = 0; i < 2; i++) {
    m.options.cache_bytes = caches[i];
    MUST(open_images(&m, &d));
    expect_pixels(d, 10);
    CHECK(d->classes && d->classes->n == 2 && d->samples[3].label == 2, "classes");
    CHECK(!strcmp(gr_dataset_sample_name(a, d, 6), "6.pgm"), "its path");
    const char *again = gr_dataset_sample_name(a, d, 8);
    CHECK(gr_ends_in(again, "images-1.parquet:4") && !strncmp(again, "7.pgm of ", 9), "%s", again);
    gr_loc loc = gr_dataset_place(d, 8);
    CHECK(loc.line == 4 && gr_ends_in(loc.file, "images-1.parquet"), "%s:%d", loc.file, loc.line);
    gr_text notes = gr_text_make(a);
    gr_dataset_notes(d, &notes);
    CHECK(!strstr(notes.chars ? notes.chars : "", "pages of Parquet") == (i > 0), "the cache");
    MUST(gr_dataset_check_files(d, 0, 1));
    gr_dataset_close(d);
  }
  m.options.limit = 3;
  MUST(open_images(&m, &d));
  expect_pixels(d, 3);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

static void other_labels(void) {
  images m = of_samples(SAMPLES "/images-0.parquet");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  m.spec.labels.label = "price", m.spec.eval_path = SAMPLES "/images-1.parquet";
  MUST(open_images(&m, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_VALIDATION) == 5, "the second file");
  first_batch(d, GR_SPLIT_VALIDATION, &l, &b);
  const float *y = fixture_field(b, "y", &t);
  CHECK(t.dtype == GR_F32 && y[0] == (float)b->sample[0] + 0.5f, "%g", (double)y[0]);
  gr_loader_close(l);
  gr_dataset_close(d);
  m.spec.unlabelled = true, m.spec.eval_path = NULL;
  MUST(open_images(&m, &d));
  CHECK(!d->classes && d->n_fields == 2, "no labels");
  expect_pixels(d, 5);
  gr_dataset_close(d);
}

// Rows of the same files join images with texts.
static void with_texts(void) {
  images m = of_samples(SAMPLES "/images-[01].parquet");
  gr_texts_spec texts = {.path = m.spec.path, .target = "caption", .max_target_tokens = 9};
  const gr_source_ops *parts[] = {&gr_source_image, &gr_source_texts};
  const void *specs[] = {&m.spec, &texts};
  gr_arena *a = gr_arena_create();
  gr_dataset *d;
  m.spec.unlabelled = true;
  texts.csv.texts[0] = "caption";
  MUST(gr_dataset_create(gr_join_ops(a, parts, 2), specs, &m.options, &d));
  expect_pixels(d, 10);
  for (uint32_t i = 0; i < 10; i++)
    CHECK(strlen(gr_dataset_reference(a, d, i)) == 1 + i % 3, "the text of %u", i);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

static void expect_names(const gr_source_ops *ops, const void *spec) {
  static const char *const want[] = {"zebra", "ant", "unused"};
  const gr_dataset_options one = {.n_buckets = 1};
  gr_dataset *d;
  MUST(gr_dataset_create(ops, spec, &one, &d));
  CHECK(d->classes && d->classes->n == 3, "%s has %d classes", ops->name,
        d->classes ? d->classes->n : 0);
  for (int i = 0; i < 3 && d->classes; i++)
    CHECK(!strcmp(d->classes->names[i], want[i]), "%s: %s", ops->name, d->classes->names[i]);
  for (uint32_t i = 0; i < d->count; i++)
    CHECK(d->samples[i].label == 1 + (int)(i % 2), "%s: label %d", ops->name, d->samples[i].label);
  gr_dataset_close(d);
}

// Numbers of a ClassLabel are its names, in its order, in every source.
static void names_of_classes(void) {
  gr_dataset *d = NULL;
  gr_arena *a = gr_arena_create();
  images m = of_samples(SAMPLES "/names.parquet");
  gr_texts_spec texts = {.path = m.spec.path, .text = "text", .label = "label", .max_tokens = 9};
  fixture_data speech = fixture_spec(SAMPLES "/names-speech.parquet");
  speech.speech.keys.label = "label";
  expect_names(&gr_source_image, &m.spec);
  expect_names(&gr_source_texts, &texts);
  expect_names(&gr_source_speech, &speech.speech);
  const char **names = GR_NEW(a, const char *, 2);
  names[0] = m.spec.path, names[1] = "size";
  gr_table_spec table = {.paths = {names, 1}, .features = {names + 1, 1}, .label = "label"};
  expect_names(&gr_source_table, &table);
  names[0] = SAMPLES "/names-none.parquet";
  const gr_dataset_options one = {.n_buckets = 1};
  fixture_fails(gr_dataset_create(&gr_source_table, &table, &one, &d), GR_ERR_DATA, 2,
                "the label '-1' is none of the 3 classes of the file");
  gr_arena_destroy(a);
}

// Runs that have read the numbers of names are evaluated by them.
static void numbers_of_classes(void) {
  const char *declared[] = {"zebra", "ant"}, *of_run[] = {"0", "1"};
  const gr_names recorded = {of_run, 2};
  gr_arena *a = gr_arena_create();
  gr_classes c = gr_classes_make(a);
  int32_t found, *number;
  c.declared = (gr_names){declared, 2};
  MUST(gr_classes_add(&c, a, "ant", GR_NOWHERE, &found));
  MUST(gr_classes_number(&c, a, true, &recorded, &number));
  CHECK(number[found] == 1 && !strcmp(c.names[1], "1"), "ant is %d", number[found]);
  gr_arena_destroy(a);
}

static void refuses(const images *m, gr_code code, const char *why) {
  gr_dataset *d = NULL;
  fixture_fails(open_images(m, &d), code, 0, why);
}

// The column called mask beside that called image, in each row: classes of pixels, or images.
static void read_masks(const char *path) {
  static const int value[] = {0, 1, 5};
  images m = of_samples(path);
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  memset(m.spec.class_of, GR_IMAGE_NO_CLASS, sizeof m.spec.class_of);
  m.spec.class_of[255] = GR_IMAGE_IGNORED, m.spec.n_values = 3;
  for (int i = 0; i < 3; i++) m.spec.class_of[value[i]] = (unsigned char)i;
  MUST(open_images(&m, &d));
  MUST(gr_dataset_check_files(d, 0, 1));
  expect_pixels(d, 6);
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const int32_t *y = fixture_field(b, "y", &t);
  CHECK(t.dtype == GR_I32, "classes of pixels");
  for (int i = 0; i < 6; i++) {
    CHECK(y[i * H * W] == (int32_t)(b->sample[i] % 3), "class %d of %u", y[i * H * W],
          b->sample[i]);
    CHECK(y[i * H * W + H * W - 1] == -100, "a pixel that does not count");
  }
  gr_loader_close(l);
  gr_dataset_close(d);
  m.spec.n_values = 0, m.spec.pictures = true;
  MUST(open_images(&m, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const unsigned char *picture = fixture_field(b, "y", &t);
  CHECK(t.dtype == GR_U8 && picture[H * W] == value[b->sample[1] % 3], "masks that are images");
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void masks(void) {
  read_masks(SAMPLES "/masks.parquet");
  read_masks(SAMPLES "/masks-photo.parquet");
}

static void bad_files(void) {
  images m = of_samples(SAMPLES "/images-missing.parquet");
  gr_dataset *d;
  MUST(open_images(&m, &d));
  fixture_fails(gr_dataset_load_all(d), GR_ERR_DATA, 2, "there is no image in");
  gr_dataset_close(d);
  m.options.skip_unreadable = true;
  MUST(open_images(&m, &d));
  MUST(gr_dataset_load_all(d));
  CHECK(gr_dataset_unreadable(d) == 2, "%d", (int)gr_dataset_unreadable(d));
  CHECK(strstr(gr_dataset_unreadable_line(d, 1), "images-missing.parquet:3"), "the bytes");
  gr_dataset_close(d);
  m = of_samples(SAMPLES "/images-0.parquet");
  m.spec.labels.label = "kind";
  refuses(&m, GR_ERR_DATA, "has no column 'kind'");
  m.spec.labels.label = NULL, m.spec.pictures = true;
  refuses(&m, GR_ERR_DATA, "has no column of masks");
  m.spec.path = SAMPLES "/masks.parquet", m.spec.masks = SAMPLES;
  refuses(&m, GR_ERR_CONFIG, "have their masks beside them, and no folder of masks");
  m = of_samples(SAMPLES "/images-two.parquet");
  m.spec.unlabelled = true;
  refuses(&m, GR_ERR_DATA, "has two columns of images, 'left.bytes' and 'right.bytes'");
  m = of_samples(SAMPLES "/kinds-0.parquet");
  refuses(&m, GR_ERR_DATA, "has no column of images");
  m = of_samples(SAMPLES "/none-*.parquet");
  refuses(&m, GR_ERR_DATA, "no file matches");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"classes", classes}, {"other_labels", other_labels},
             {"with_texts", with_texts}, {"names_of_classes", names_of_classes},
             {"numbers_of_classes", numbers_of_classes}, {"masks", masks},
             {"bad_files", bad_files});
}
