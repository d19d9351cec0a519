// test_image.c - the source `image`: folders by class and lists, labels, splits and values; and
// what is wrong with them.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/runtime/data/images.h"
#include "tests/runtime/data/tally.h"

// root/cat of three images, one of them in a folder; root/dog of two, and a file of text.
static void classes_at(const char *root) {
  char name[128];
  static const struct {
    const char *path;
    int first;
  } all[] = {{"cat/b.ppm", 10},
             {"cat/a.PGM", 0},
             {"cat/more/c.pgm", 20},
             {"dog/x.pgm", 100},
             {"dog/y.pgm", 110}};
  static const char *const folders[] = {"", "/cat", "/cat/more", "/dog"};
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s%s", root, folders[i]);
    make_folder(name);
  }
  for (int i = 0; i < 5; i++) {
    snprintf(name, sizeof name, "%s/%s", root, all[i].path);
    save(name, W, all[i].first);
  }
  snprintf(name, sizeof name, "%s/dog/notes.txt", root);
  fixture_text(fixture_path("%s", name), "hello");
}

static void folders(void) {
  images m = of_path("tree");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  static const int first[] = {0, 10, 20, 100, 110};
  classes_at("tree");
  MUST(open_images(&m, &d));
  CHECK(d->count == 5 && d->skipped[GR_IMAGE_OTHER].n == 1, "%u images", d->count);
  CHECK(!strcmp(of_set(d)->list.file[2].name, "cat/more/c.pgm"), "%s",
        of_set(d)->list.file[2].name);
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const unsigned char *x = fixture_field(b, "x", &t);
  CHECK(t.dtype == GR_U8 && t.rank == 4 && t.dim[1] == H && t.dim[2] == W && t.dim[3] == 1, "x");
  const int32_t *y = fixture_field(b, "y", &t);
  const float *weight = fixture_field(b, "class_weight", &t);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < H * W; k++)
      CHECK(x[i * H * W + k] == first[i] + k, "value %d of image %d is %d", k, i, x[i * H * W + k]);
    CHECK(y[i] == (i > 2), "class %d of image %d", y[i], i);
    float want = i > 2 ? 5.0f / (2 * 2) : 5.0f / (2 * 3);
    CHECK(weight[i] == want, "weight %g, not %g", (double)weight[i], (double)want);
  }
  gr_loader_close(l);
  gr_metadata meta[GR_MAX_METADATA];
  CHECK(gr_dataset_metadata(d, meta) == 4 && meta[0].value == 2 && meta[1].value == H &&
            meta[2].value == W && meta[3].value == 1,
        "metadata");
  gr_dataset_close(d);
  m.options.limit = 1;  // of each class
  MUST(open_images(&m, &d));
  CHECK(d->count == 2, "%u images", d->count);
  gr_dataset_close(d);
  m.options.limit = 0;
  classes_at("other");
  m.spec.eval_path = fixture_path("other/");
  MUST(open_images(&m, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 5 && gr_dataset_count(d, GR_SPLIT_VALIDATION) == 5,
        "one folder for each split");
  gr_dataset_close(d);
}

static images of_list(const char *text) {
  images m = of_path("list.csv");
  fixture_text(m.spec.path, text);
  return m;
}

// Labels that are numbers are ordered as such; paths are relative to the list.
static void lists(void) {
  images m = of_list("label,path,split\n10,a.pgm,train\n9,b.pgm,val\n10,001,0\n10,a.pgm,0\n");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  save("a.pgm", W, 5), save("b.pgm", W, 50), save("1", W, 70), save("001", W, 90);
  MUST(open_images(&m, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 3, "of the column split");
  CHECK(!strcmp(of_set(d)->list.file[2].name, "001"), "a path is no number");
  first_batch(d, GR_SPLIT_VALIDATION, &l, &b);
  const unsigned char *x = fixture_field(b, "x", &t);
  const int32_t *y = fixture_field(b, "y", &t);
  CHECK(x[0] == 50 && y[0] == 0, "x %d of class %d", x[0], y[0]);
  gr_loader_close(l);
  CHECK(fixture_notes(d, "the class '9' has 1 validation sample"), "a line");
  gr_dataset_close(d);
  m = of_list("label,path,split\n1,a.pgm,0\n2,b.pgm,0\n1,a.pgm,1\n");
  MUST(open_images(&m, &d));
  CHECK(fixture_notes(d, "1 validation sample is of files that are trained on, too"), "a line");
  gr_dataset_close(d);
}

// Every rank gets the same rows as one rank does, with as many workers as it likes.
static void same_on_ranks(void) {
  static tally one, three;
  char text[4096] = "path,label\n";
  gr_dataset *d;
  for (int i = 0; i < 31; i++) {
    char name[32];
    snprintf(name, sizeof name, "r%02d.pgm", i);
    save(name, 5 + i % 7, i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%s\n", name, i % 3 ? "a" : "b");
  }
  images m = of_list(text);
  gr_loader_spec spec = plain();
  MUST(open_images(&m, &d));
  read_all(d, spec, 1, &one);
  gr_dataset_close(d);
  m.options.cache_bytes = 0;
  spec.workers = 3;
  MUST(open_images(&m, &d));
  read_all(d, spec, 3, &three);
  int k = 0;
  for (int i = 0; i < three.n; i++)
    if (i % 6 != 5 && k < one.n) {
      CHECK(one.rows[k].hash == three.rows[i].hash, "row %d differs", k);
      k++;
    }
  CHECK(k == one.n && k >= 62, "%d rows of %d", k, one.n);
  gr_dataset_close(d);
}

// ---- Values -------------------------------------------------------------------------------------

static gr_arena *arena;

// The y of a list whose spec is m->spec.labels, of all its rows.
static void expect_values(const images *m, int targets, const char *names, const float *want) {
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  int each = targets ? targets : 1;
  gr_text record = gr_text_make(arena);
  MUST(open_images(m, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const float *y = fixture_field(b, "y", &t);
  CHECK(t.dtype == GR_F32 && t.rank == 1 + (targets > 0) && (!targets || t.dim[1] == targets),
        "y has %d axes", t.rank);
  for (int i = 0; i < 3 * each; i++)
    CHECK(y[i] == want[i], "value %d is %g, not %g", i, (double)y[i], (double)want[i]);
  gr_dataset_json(d, &record);
  CHECK(!names || strstr(record.chars, names), "%s", record.chars);
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void values(void) {
  const char *several[] = {"n", "f"};
  arena = gr_arena_create();
  save("a.pgm", W, 5), save("b.pgm", W, 50), save("c.pgm", W, 70);
  images m =
      of_list("f,path,n,tags,label\n0.5,a.pgm,1,x| y,0.25\n1.5,b.pgm,0,,0.5\n2,c.pgm,1,y,4\n");
  expect_values(&m, 0, NULL, (const float[]){0.25f, 0.5f, 4});
  m.spec.labels = (gr_table_spec){.label = "n", .label_is = GR_LABEL_VALUE};
  expect_values(&m, 0, NULL, (const float[]){1, 0, 1});
  m.spec.labels = (gr_table_spec){.label = "n", .labels = {several, 2}};
  expect_values(&m, 2, "\"targets\": [\"n\", \"f\"]", (const float[]){1, 0.5f, 0, 1.5f, 1, 2});
  m.spec.labels = (gr_table_spec){.label = "tags", .label_is = GR_LABEL_LIST};
  expect_values(&m, 2, "\"targets\": [\"x\", \"y\"]", (const float[]){1, 1, 0, 0, 0, 1});
  gr_arena_destroy(arena);
}

// Those of the second list are of its rows.
static void values_of_two(void) {
  images m = of_list("path,label\na.pgm,1.5\nb.pgm,2.5\n");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  save("a.pgm", W, 5), save("b.pgm", W, 50);
  m.spec.eval_path = fixture_path("eval.csv");
  fixture_text(m.spec.eval_path, "label,path\n3.5,b.pgm\n4.5,a.pgm\n");
  MUST(open_images(&m, &d));
  first_batch(d, GR_SPLIT_VALIDATION, &l, &b);
  const float *y = fixture_field(b, "y", &t);
  CHECK(y[0] == 3.5f && y[1] == 4.5f, "%g and %g", (double)y[0], (double)y[1]);
  gr_loader_close(l);
  gr_dataset_close(d);
}

// ---- Errors -------------------------------------------------------------------------------------

static void refuses(const images *m, int line, const char *part) {
  gr_dataset *d = NULL;
  fixture_fails(open_images(m, &d), GR_ERR_DATA, line, part);
}

static void bad_lists(void) {
  images m = of_list("path,kind\na.pgm,1\n");
  refuses(&m, 1, "the list of images has no column 'label'");
  m = of_list("path,label\na.pgm,cat\nb.pgm,\n");
  refuses(&m, 3, "there is no label in this line");
  m = of_list("path,label\na.pgm,cat\nb.pgm,cat\n");
  refuses(&m, 0, "all 2 images are of one class, 'cat'");
  m = of_list("path,label,split\na.pgm,cat,test\nb.pgm,dog,1\n");
  refuses(&m, 2, "the split in this line is 'test'");
  m = of_list("path,label,split\na.pgm,cat,0\nb.pgm,dog,1\n");
  m.spec.eval_path = m.spec.path;
  refuses(&m, 1, "both say what is for validation");
  m = of_list("path,label,weight\na.pgm,cat,1\nb.pgm,dog,-1\n");
  refuses(&m, 3, "the weight in this line is no number of at least 0");
  m = of_list("path,label,weight\na.pgm,cat,1\nb.pgm,dog,\n");
  refuses(&m, 3, "there is no weight in this line");
  m = of_list("path,label\n001,1\n1,2\n001,2\n");
  refuses(&m, 4, "'001' has the label '2' here, and '1' in ");
  m = of_list("path,label\n");
  refuses(&m, 0, "");
}

static void bad_values(void) {
  images m = of_list("path,label\na.pgm,0.5\nb.pgm,\n");
  refuses(&m, 3, "the column 'label' has no value in this line");
  m.spec.labels = (gr_table_spec){.label = "label", .label_is = GR_LABEL_CLASS};
  refuses(&m, 1, "numbers with fractions");
  m = of_list("path,label\na.pgm,1\nb.pgm,2\n");
  m.spec.labels = (gr_table_spec){.label = "label",
                                  .label_is = GR_LABEL_LIST,
                                  .labels = {(const char *[]){"label", "none"}, 2}};
  gr_dataset *d = NULL;
  fixture_fails(open_images(&m, &d), GR_ERR_CONFIG, 0, "has no column 'none'");
  m.spec.labels.labels.items[1] = "label";
  refuses(&m, 3, "the label 'label' in this line is 2");
  classes_at("named");
  m.spec.path = fixture_path("named");
  refuses(&m, 0, "the folders of images are classes");
}

// Images without labels are in any folders, or in a list of paths alone.
static void unlabelled(void) {
  images m = of_path("flat");
  gr_dataset *d;
  gr_metadata meta[GR_MAX_METADATA];
  make_folder("flat"), make_folder("flat/in");
  save("flat/a.pgm", W, 1), save("flat/in/b.pgm", W, 2);
  m.spec.unlabelled = true;
  MUST(open_images(&m, &d));
  CHECK(d->count == 2 && !d->classes && d->n_fields == 2, "%u images", d->count);
  CHECK(gr_dataset_metadata(d, meta) == 3 && !strcmp(meta[0].name, "height"), "no classes");
  gr_dataset_close(d);
  m.spec.path = fixture_path("paths.csv");
  fixture_text(m.spec.path, "path\nflat/a.pgm\nflat/in/b.pgm\n");
  MUST(open_images(&m, &d));
  CHECK(d->count == 2 && !d->classes, "%u images", d->count);
  gr_dataset_close(d);
}

static void bad_folders(void) {
  images m = of_path("empty");
  make_folder("empty");
  refuses(&m, 0, "empty' has no folders with images");
  save("empty/a.pgm", W, 0);
  refuses(&m, 0, "has images and no folders: their classes are not known");
  make_folder("empty/cat");
  refuses(&m, 0, "has images and no folders");
  save("empty/cat/a.pgm", W, 0);
  refuses(&m, 0, "all 1 images are of one class, 'cat'");
  CHECK(!symlink(".", fixture_path("%s", "empty/cat/loop")), "a link");
  refuses(&m, 0, "folders deep");
  make_folder("parts"), make_folder("parts/car"), make_folder("parts/Val");
  make_folder("parts/Val/car"), make_folder("parts/Val/bus");
  save("parts/car/a.pgm", W, 0), save("parts/Val/car/a.pgm", W, 0),
      save("parts/Val/bus/a.pgm", W, 0);
  m = of_path("parts");
  refuses(&m, 0, "parts/Val' is a split by its name and its folders");
  save("parts/Val/b.pgm", W, 0);  // a class of that name
  gr_dataset *d;
  MUST(open_images(&m, &d));
  gr_dataset_close(d);
  m = of_path("absent");
  refuses(&m, 0, "absent");
}

// An image is read when it is needed: its line is where the error is.
static void bad_images(void) {
  images m = of_list("path,label\na.pgm,cat\nbad.pgm,dog\n");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_loader_spec spec = {.batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  save("a.pgm", W, 5);
  fixture_text(fixture_path("bad.pgm"), "P5 3 2 255\nabc");
  MUST(open_images(&m, &d));
  MUST(gr_loader_open(d, &spec, &l));
  fixture_fails(gr_loader_next(l, &b), GR_ERR_DATA, 3, "bad.pgm' is cut short");
  gr_loader_close(l);
  gr_dataset_close(d);
  m.options.skip_unreadable = true;
  MUST(open_images(&m, &d));
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  CHECK(weight_of(b, 0) == 1 && weight_of(b, 1) == 0, "it gets no weight");
  gr_loader_close(l);
  gr_dataset_close(d);
}

#if defined GR_HAVE_JPEG && defined GR_HAVE_PNG
static int hex_of(const char *digits, unsigned char *out) {
  int n = 0;
  for (unsigned v; sscanf(digits + 2 * (size_t)n, "%2x", &v) == 1; n++) out[n] = (unsigned char)v;
  return n;
}

// The largest difference of an image's values from those.
static int differs(const images *m, const unsigned char *want) {
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  int most = 0;
  MUST(open_images(m, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  bool mask = m->spec.n_values;
  const void *x = fixture_field(b, mask ? "y" : "x", &t);
  for (int i = 0; i < m->spec.height * m->spec.width * m->spec.channels; i++) {
    int v = mask ? ((const int32_t *)x)[i] : ((const unsigned char *)x)[i], w = want[i];
    if (abs(v - w) > most) most = abs(v - w);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
  return most;
}

// Every value is a class but 254 and 255, of which there are none.
static void set_values(gr_image_spec *s, bool masks) {
  s->n_values = masks ? 254 : 0;
  for (int i = 0; i < 256; i++) s->class_of[i] = (unsigned char)i;
}

// The same bytes as Pillow's, unless a part of a JPEG is asked for.
static void as_pillow(void) {
  static char file[1 << 15], result[1 << 15];
  static unsigned char bytes[1 << 14], want[1 << 14];
  char how[16], color[16];
  int height, width, cases = 0, reduced = 0;
  images m = of_list("path,label,mask\npicture,a,picture\ntwin,b,twin\n");
  FILE *f = fopen(GR_GOLDEN "/pictures.txt", "r");
  CHECK(f, "cannot open %s", GR_GOLDEN "/pictures.txt");
  CHECK(fscanf(f, "%*[^\n]") == 0, "the first line");
  for (;
       fscanf(f, "%15s %15s %d %d %32767s %32767s", how, color, &height, &width, file, result) == 6;
       cases++) {
    m.spec.resize = !strcmp(how, "cover") ? GR_PICTURE_COVER : GR_PICTURE_STRETCH;
    set_values(&m.spec, !strcmp(color, "mask"));
    m.spec.channels = m.spec.n_values || !strcmp(color, "gray") ? 1 : !strcmp(color, "rgb") ? 3 : 4;
    m.spec.height = height, m.spec.width = width, m.spec.reduced = false;
    size_t n = (size_t)hex_of(file, bytes);
    fixture_bytes(fixture_path("picture"), bytes, n), fixture_bytes(fixture_path("twin"), bytes, n);
    CHECK(hex_of(result, want) == height * width * m.spec.channels, "case %d", cases);
    CHECK(!differs(&m, want), "case %d differs by up to %d", cases, differs(&m, want));
    m.spec.reduced = !m.spec.n_values;
    reduced += differs(&m, want) > 0;
  }
  CHECK(cases == 73 && reduced == 5, "%d cases, of which %d may be reduced", cases, reduced);
  fclose(f);
}
#else
static void as_pillow(void) { SKIP("built without libjpeg-turbo or libpng"); }
#endif

int main(int argc, char **argv) {
  return RUN(argc, argv, {"folders", folders}, {"lists", lists}, {"values", values},
             {"values_of_two", values_of_two}, {"bad_values", bad_values},
             {"same_on_ranks", same_on_ranks}, {"bad_lists", bad_lists}, {"unlabelled", unlabelled},
             {"bad_folders", bad_folders}, {"bad_images", bad_images}, {"as_pillow", as_pillow});
}
