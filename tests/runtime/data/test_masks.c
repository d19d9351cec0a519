// test_masks.c - images with masks: where they are, what their values become, how they are scaled
// and transformed with their images; and what is wrong with them.
#include <stdlib.h>
#include "tests/runtime/data/images.h"
#include "tests/runtime/data/png.h"

// Images with masks: values are their classes, but for 8, which is class 0, and 9, which is not
// counted.
static images masked(const char *path) {
  images m = of_path(path);
  m.spec.n_values = 8;
  memset(m.spec.class_of, GR_IMAGE_NO_CLASS, sizeof m.spec.class_of);
  for (int i = 1; i < 8; i++) m.spec.class_of[i] = (unsigned char)i;
  m.spec.class_of[8] = 0, m.spec.class_of[9] = GR_IMAGE_IGNORED;
  return m;
}

static void expect_y(const images *m, const int32_t *want, int n) {
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  gr_metadata meta[GR_MAX_METADATA];
  MUST(open_images(m, &d));
  CHECK(gr_dataset_metadata(d, meta) == 4 && meta[0].value == 8, "classes");
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const int32_t *y = fixture_field(b, "y", &t);
  CHECK(t.dtype == GR_I32 && t.rank == 3 && t.dim[1] == m->spec.height, "y");
  for (int i = 0; i < n; i++) CHECK(y[i] == want[i], "label %d is %d, not %d", i, y[i], want[i]);
  for (int i = n; i < (int)gr_type_count(&t); i++) CHECK(y[i] == y[i - n], "of padding");
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void masks(void) {
  static const int32_t all[] = {4, 5, 6, 7, 0, GR_NO_LABEL};
  static const int32_t cut[] = {-100, 4, 5, 6, -100, -100, 7, 0, -100, -100};
  make_folder("pics"), make_folder("pics/in"), make_folder("masks"), make_folder("masks/in");
  save("pics/in/a.b.pgm", W, 100), save("masks/in/a.b_mask.png", W, 4);
  images m = masked("pics/");
  m.spec.masks = fixture_path("masks/");
  expect_y(&m, all, 6);
  m.spec.resize = GR_PICTURE_CROP, m.spec.width = 5;  // as the image, in the middle
  expect_y(&m, cut, 10);
  m = masked("masks.csv");
  fixture_text(m.spec.path, "mask,path\nmasks/in/a.b_mask.png,pics/in/a.b.pgm\n");
  expect_y(&m, all, 6);
}

// Masks that are images, of the endings of images, are y as they are.
static void pictures(void) {
  static const char list[] =
      "[{flip: {axis: height}}, flip, {crop: {size: [3, 7], pad: 2, fill: 77}}]";
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t, of;
  make_folder("low"), make_folder("high");
  save("low/a.pgm", W, 100), save("high/a.ppm", W, 100);
  images m = of_path("low");
  m.spec.pictures = true, m.spec.masks = fixture_path("high");
  for (int turn = 0; turn < 2; turn++) {
    gr_arena *a = gr_arena_create();
    if (turn) MUST(gr_conf_parse(a, "transforms", list, &m.options.transforms));
    MUST(open_images(&m, &d));
    CHECK(!d->classes && d->n_fields == 3, "no classes");
    first_batch(d, GR_SPLIT_TRAIN, &l, &b);
    const unsigned char *x = fixture_field(b, "x", &t), *y = fixture_field(b, "y", &of);
    CHECK(of.dtype == GR_U8 && gr_type_same(&t, &of), "y is of the type of x");
    CHECK(!memcmp(x, y, gr_type_bytes(&t)), "and moved as it is");
    CHECK(turn || x[1] == 101, "pixels");
    gr_loader_close(l);
    gr_dataset_close(d);
    gr_arena_destroy(a);
  }
}

// Each split has as many images as the limit says.
static void limited(void) {
  gr_dataset *d;
  make_folder("few"), make_folder("few/masks");
  save("few/a.pgm", W, 100), save("few/b.pgm", W, 100);
  save("few/masks/a.pgm", W, 4), save("few/masks/b.pgm", W, 4);
  images m = masked("few");
  m.spec.masks = m.spec.eval_masks = fixture_path("few/masks");
  m.spec.eval_path = m.spec.path, m.options.limit = 1;
  MUST(open_images(&m, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 1 && gr_dataset_count(d, GR_SPLIT_VALIDATION) == 1,
        "%u and %u images", gr_dataset_count(d, GR_SPLIT_TRAIN),
        gr_dataset_count(d, GR_SPLIT_VALIDATION));
  gr_dataset_close(d);
}

static void bad_mask(const char *name, int width, int first, const char *part) {
  images m = masked("pair.csv");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_loader_spec spec = {.batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  char text[64];
  snprintf(text, sizeof text, "path,mask\na.pgm,%s\n", name);
  fixture_text(m.spec.path, text);
  save("a.pgm", W, 5);
  if (width) save(name, width, first);
  MUST(open_images(&m, &d));
  MUST(gr_loader_open(d, &spec, &l));
  fixture_fails(gr_loader_next(l, &b), GR_ERR_DATA, 2, part);
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void bad_masks(void) {
  gr_dataset *d = NULL;
  bad_mask("m.pgm", W, 5, "m.pgm' has the value 10 in row 1, column 2, which is of no class");
  bad_mask("m.pgm", 2, 1, "m.pgm' has 2 x 2 pixels, its image 3 x 2");
  bad_mask("gone.pgm", 0, 0, "gone.pgm");
  fixture_text(fixture_path("rgb"), "P6 3 2 255\nabcdefghijklmnopqr");
  bad_mask("rgb", 0, 0, "rgb' has 3 channels");
  images m = masked("pair.csv");
  fixture_text(m.spec.path, "path,label\na.pgm,cat\n");
  fixture_fails(open_images(&m, &d), GR_ERR_DATA, 1, "has no column 'mask'");
  fixture_text(m.spec.path, "path,mask\na.pgm,m.pgm\na.pgm,\n");
  fixture_fails(open_images(&m, &d), GR_ERR_DATA, 3, "there is no mask in this line");
  m = masked(".");
  fixture_fails(open_images(&m, &d), GR_ERR_CONFIG, 0, "masks of the images in the folder");
  m.spec.masks = m.spec.path, m.spec.reduced = true;
  fixture_fails(open_images(&m, &d), GR_ERR_CONFIG, 0, "not decoded at a fraction");
}

// Calls for 20 epochs of two rows of an image of bytes that count, which is its own mask.
static void each_moved(const char *transforms,
                       void (*check)(const unsigned char *, const int32_t *, int64_t, int64_t)) {
  images m = masked("moved.csv");
  gr_arena *a = gr_arena_create();
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  char text[256];
  snprintf(text, sizeof text, "%s", transforms);
  fixture_text(m.spec.path, "path,mask\nm.pgm,m.pgm\nm.pgm,m.pgm\n");
  save("m.pgm", 10, 1);
  for (int i = 0; i < 256; i++) m.spec.class_of[i] = (unsigned char)i;
  m.spec.n_values = 254, m.spec.width = 10;
  MUST(gr_conf_parse(a, "list.yaml", text, &m.options.transforms));
  MUST(open_images(&m, &d));
  gr_loader_spec spec = {.batch = 2, .ranks = 1, .epochs = 20, .prefetch = 1, .augment = true};
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  while (b) {
    const unsigned char *x = fixture_field(b, "x", &t);
    const int32_t *y = fixture_field(b, "y", &t);
    for (int i = 0; i < 2; i++)
      check(x + i * t.dim[1] * t.dim[2], y + i * t.dim[1] * t.dim[2], t.dim[1], t.dim[2]);
    MUST(gr_loader_next(l, &b));
  }
  gr_loader_close(l);
  gr_dataset_close(d);
  gr_arena_destroy(a);
}

static int outside, changed;

static void same_pixels(const unsigned char *x, const int32_t *y, int64_t h, int64_t w) {
  CHECK(h == 3 && w == 7, "y of [%d, %d]", (int)h, (int)w);
  changed += y[8] != 2;
  for (int i = 0; i < h * w; i++) {
    bool out = y[i] == GR_NO_LABEL;
    CHECK(x[i] == (out ? 77 : y[i]), "pixel %d is %d, its label %d", i, x[i], y[i]);
    outside += out;
  }
}

// Turned by whole pixels or not, labels are some of those that are mixed in x.
static void near_pixels(const unsigned char *x, const int32_t *y, int64_t h, int64_t w) {
  for (int i = 0; i < h * w; i++) {
    bool out = y[i] == GR_NO_LABEL;
    CHECK(out || (y[i] >= 1 && y[i] <= 20), "label %d is %d", i, y[i]);
    if (!out && x[i] && i % w > 2 && i % w < 7)
      CHECK(abs(x[i] - y[i]) <= 11, "pixel %d is %d, its label %d", i, x[i], y[i]);
    changed += y[i] != i + 1, outside += out;
  }
}

// Pixels and their labels move alike; what comes in from outside has no label.
static void moves(void) {
  each_moved("[{flip: {axis: height}}, flip, {crop: {size: [3, 7], pad: 2, fill: 77}}]",
             same_pixels);
  CHECK(outside > 100 && changed > 10, "%d pixels from outside, %d moved", outside, changed);
  outside = changed = 0;
  each_moved("[{rotate: 30}, {brightness: 0.0}, {contrast: 0.0}]", near_pixels);
  CHECK(outside > 40 && changed > 100, "%d pixels from outside, %d turned", outside, changed);
}

#ifdef GR_HAVE_PNG
static png file;

// Of masks the values themselves: indices of a palette, few bits as they are, no alpha.
static void reads_values(void) {
  static const gr_picture_use values = {.values = true};
  static const struct {
    int depth, color;
    const char *row, *want;
  } cases[] = {{4, 3, "\x10", "\1\0"}, {1, 0, "\x40", "\0\1"}, {8, 4, "abcd", "ac"}};
  gr_picture p;
  for (int i = 0; i < 3; i++) {
    png_begin(&file, 2, 1, cases[i].depth, cases[i].color);
    if (cases[i].color == 3) png_chunk(&file, "PLTE", "abcdef", 6);
    if (cases[i].color == 3) png_chunk(&file, "tRNS", "\0", 1);
    png_end(&file, cases[i].row, 1, strlen(cases[i].row));
    MUST(gr_picture_decode("x.png", file.data, file.n, &values, &p));
    CHECK(p.width == 2 && p.channels == 1 && !memcmp(p.pixels, cases[i].want, 2), "case %d", i);
    free(p.pixels);
  }
  png_begin(&file, 1, 1, 16, 0);
  png_end(&file, "\x00\x01", 1, 2);
  fixture_fails(gr_picture_decode("x.png", file.data, file.n, &values, &p), GR_ERR_DATA, 0,
                "values of 16 bits are no classes");
}
#else
static void reads_values(void) { SKIP("built without libpng"); }
#endif

// ---- Back to the size of a file ----------------------------------------------------------------

static void expect_back(gr_picture_resize how, bool classes, int height, int width,
                        const char *want) {
  gr_picture p = {.height = 2, .width = 3, .channels = 1};
  p.pixels = malloc(6 + GR_PICTURE_SPARE);
  memcpy(p.pixels, "abcdefzzzz", 6 + GR_PICTURE_SPARE);
  MUST(gr_picture_back(&p, how, classes, height, width, '.'));
  CHECK(p.height == height && p.width == width && p.channels == 1, "the size");
  CHECK(!strncmp((char *)p.pixels, want, (size_t)(height * width)), "%.*s, not %s", height * width,
        (char *)p.pixels, want);
  free(p.pixels);
}

// What the network did not see is '.'.
static void back(void) {
  expect_back(GR_PICTURE_STRETCH, true, 4, 6, "aabbccaabbccddeeffddeeff");
  expect_back(GR_PICTURE_STRETCH, true, 1, 2, "df");
  expect_back(GR_PICTURE_STRETCH, false, 2, 6, "aabbccddeeff");
  expect_back(GR_PICTURE_COVER, true, 4, 10, "..aabbcc....aabbcc....ddeeff....ddeeff..");
  expect_back(GR_PICTURE_COVER, false, 2, 4, ".abc.def");
  expect_back(GR_PICTURE_COVER, true, 4, 3, "...abcdef...");
  expect_back(GR_PICTURE_CROP, true, 4, 5, "......abc..def......");
  expect_back(GR_PICTURE_CROP, true, 2, 1, "be");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"back", back}, {"masks", masks}, {"pictures", pictures},
             {"limited", limited}, {"bad_masks", bad_masks}, {"moves", moves},
             {"reads_values", reads_values});
}
