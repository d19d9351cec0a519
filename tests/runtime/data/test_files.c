// test_files.c - files are looked at before any is needed: the error is that of the first one,
// whatever the threads do, each process looks at its part, and heads alone show what is missing,
// empty, cut short or something else.
#include <pthread.h>
#include <stdatomic.h>
#include "base/work.h"
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/files.h"
#include "runtime/data/image/image.h"
#include "runtime/data/table/table.h"
#include "tests/runtime/data/fixture.h"
#include "tests/runtime/data/png.h"

// ---- Passes -------------------------------------------------------------------------------------

enum { FILES = 1000 };

typedef struct counted {
  _Atomic int looks[FILES];
  uint32_t bad;      // this file, and every one after it
  uint32_t stop_at;  // the process is asked to stop when this one is looked at
} counted;

static gr_status look(void *self, uint32_t i) {
  counted *c = self;
  c->looks[i]++;
  if (i == c->stop_at) gr_stop_request();
  return i < c->bad ? GR_OK : gr_fail(GR_ERR_DATA, GR_NOWHERE, "file %u", i);
}

static counted *fresh(uint32_t bad) {
  static counted c;
  memset(&c, 0, sizeof c);
  c.bad = bad, c.stop_at = FILES;
  return &c;
}

static gr_files all_of(counted *c) {
  return (gr_files){
      .verb = "counting", .noun = "files", .n = FILES, .threads = 7, .look = look, .self = c};
}

static void each_once(void) {
  for (uint32_t parts = 1; parts < 4; parts++) {
    counted *c = fresh(FILES);
    gr_files f = all_of(c);
    f.parts = parts;
    for (f.part = 0; f.part < parts; f.part++) MUST(gr_files_look(&f));
    for (int i = 0; i < FILES; i++)
      CHECK(c->looks[i] == 1, "%u parts look at file %d %d times", parts, i, c->looks[i]);
  }
  gr_files none = all_of(fresh(0));
  none.n = 0;
  MUST(gr_files_look(&none));
  none.n = 2, none.part = 2, none.parts = 3;  // more processes than files
  MUST(gr_files_look(&none));
}

static void the_first(void) {
  for (uint32_t bad = 0; bad < FILES; bad += 111) {
    char want[32];
    gr_files f = all_of(fresh(bad));
    snprintf(want, sizeof want, "file %u", bad);
    fixture_fails(gr_files_look(&f), GR_ERR_DATA, 0, want);
    f.part = 1, f.parts = 2;
    snprintf(want, sizeof want, "file %u", bad % 2 ? bad : bad + 1);
    fixture_fails(gr_files_look(&f), GR_ERR_DATA, 0, want);
  }
}

// What it was doing is said by the thread that waits for the others, too.
static void stops(void) {
  counted *c = fresh(FILES);
  gr_files f = all_of(c);
  int looks = 0;
  c->stop_at = 100;
  fixture_fails(gr_files_look(&f), GR_ERR_STOPPED, 0, "while counting 1000 files");
  gr_stop_clear();
  for (int i = 0; i < FILES; i++) looks += c->looks[i];
  CHECK(looks < FILES, "%d files were looked at after all", looks);
}

static void paths(void) {
  const char *three[] = {fixture_path("there.txt"), fixture_path("none.txt"),
                         fixture_path("no.txt")};
  fixture_text(three[0], "x");
  MUST(gr_files_there(three, 1));
  fixture_fails(gr_files_there(three, 3), GR_ERR_DATA, 0, "none.txt'");
  three[1] = fixture_path("%s", "");
  fixture_fails(gr_files_there(three, 3), GR_ERR_DATA, 0, "it is a folder");
}

// A source of several files says that one is missing before it reads the first, which is broken.
static void before_the_first(void) {
  const char *tables[] = {fixture_path("broken.csv"), fixture_path("none.csv")};
  const char *texts[] = {fixture_path("broken.txt")}, *more[] = {fixture_path("none.txt")};
  gr_table_spec table = {.paths = {tables, 2}, .dtype = GR_F32, .csv = {',', true, "data.table"}};
  gr_table_spec spec = table;
  gr_corpus_spec corpus = {
      .paths = {texts, 1}, .eval = {more, 1}, .vocab = fixture_path("v.txt"), .context = 8};
  gr_dataset_options o = {.n_buckets = 1};
  gr_dataset *d;
  fixture_text(tables[0], "a,b\n1,2\n\"x\n");
  fixture_text(texts[0], "not in the vocabulary");
  fixture_text(corpus.vocab, "a\nb\n");
  fixture_fails(gr_dataset_create(&gr_source_table, &table, &o, &d), GR_ERR_DATA, 0, "none.csv'");
  spec.paths.n = 1, spec.eval = (gr_names){tables + 1, 1};
  fixture_fails(gr_dataset_create(&gr_source_table, &spec, &o, &d), GR_ERR_DATA, 0, "none.csv'");
  fixture_fails(gr_dataset_create(&gr_source_corpus, &corpus, &o, &d), GR_ERR_DATA, 0, "none.txt'");
}

// ---- Heads --------------------------------------------------------------------------------------

#ifdef GR_HAVE_PNG
static png file;

static void good_png(void) {
  unsigned char pixels[2 * 3] = {1, 2, 3, 4, 5, 6};
  png_begin(&file, 3, 2, 8, 0);
  png_end(&file, pixels, 2, 3);
}
#endif

// What a run says before it begins of an image of these bytes, in line 3 of its list; with what it
// says when it reads the image.
static void refused(const char *name, const void *bytes, size_t n, const char *part) {
  const char *path = fixture_path("%s", name), *list = fixture_path("list.csv");
  char text[256];
  gr_image_spec spec = {list, NULL, 2, 3, GR_PICTURE_STRETCH, 1};
  gr_dataset_options o = {.n_buckets = 1};
  gr_dataset *d;
  gr_picture p;
  if (bytes) fixture_bytes(path, bytes, n);
  snprintf(text, sizeof text, "path,label\ngood.pgm,a\n%s,b\n", name);
  fixture_text(list, text);
  MUST(gr_dataset_create(&gr_source_image, &spec, &o, &d));
  MUST(gr_dataset_check_files(d, 0, 2));
  gr_status before = gr_dataset_check_files(d, 1, 2), then = gr_picture_read(path, NULL, &p);
  CHECK(before && then && !strcmp(gr_status_text(before), gr_status_text(then)), "'%s', then '%s'",
        gr_status_text(before), gr_status_text(then));
  CHECK(before && strstr(gr_status_hint(before), "data.skip_unreadable"), "what to do");
  gr_status_drop(then);
  fixture_fails(before, GR_ERR_DATA, 3, part);
  d->options.skip_unreadable = true;  // then it is left out when it is read
  MUST(gr_dataset_check_files(d, 0, 1));
  gr_dataset_close(d);
}

static void heads(void) {
  fixture_bytes(fixture_path("good.pgm"), "P5\n3 2\n255\nabcdef", 17);
  refused("none.png", NULL, 0, "none.png': No such file");
  refused("empty.png", "", 0, "empty.png' is an empty file");
  refused("text.png", "hello, world\n", 13, "text.png' is no image");
  refused("cut.ppm", "P6\n3 2\n255\nabc", 14, "it declares 18 bytes of pixels and has 3");
  refused("head.pgm", "P5\n3", 4, "has no head");
  refused("cut.npy", "\x93NUMPY\x01", 7, "is no array of NumPy");
#ifdef GR_HAVE_PNG
  good_png();
  refused("cut.png", file.data, 20, "the file is cut short");
  memcpy(file.data + 16, "\x00\x00\xff\xff\x00\x00\xff\xff", 8);
  refused("crc.png", file.data, file.n, "CRC error");
#endif
#ifdef GR_HAVE_JPEG
  refused("cut.jpg", "\xff\xd8\xff\xe0\x00\x10JFIF", 10, "cannot be read");
#endif
}

// Pixels that are damaged are found when they are read: heads alone are cheap.
static void heads_alone(void) {
#ifdef GR_HAVE_PNG
  gr_picture p;
  const char *path = fixture_path("pixels.png");
  good_png();
  memset(file.data + 45, 0xff, 8);
  fixture_bytes(path, file.data, file.n);
  MUST(gr_picture_probe(path, NULL));
  fixture_fails(gr_picture_read(path, NULL, &p), GR_ERR_DATA, 0, "pixels.png' cannot be read");
#else
  SKIP("no libpng");
#endif
}

// An image that is too large as it is may be decoded at a fraction of its size: a head is checked
// for the same use.
static void heads_of_large_images(void) {
#ifdef GR_HAVE_JPEG
  static const unsigned char head[] = {0xff, 0xd8, 0xff, 0xc0, 0,    11, 8,    0x4e, 0x20,
                                       0x4e, 0x20, 1,    1,    0x11, 0,  0xff, 0xda, 0,
                                       8,    1,    1,    0,    0,    63, 0};
  static unsigned char bytes[1 << 20];
  static const gr_picture_use small = {3, 2};
  memcpy(bytes, head, sizeof head);
  MUST(gr_picture_decode("large.jpg", bytes, sizeof bytes, &small, NULL));
  fixture_fails(gr_picture_decode("large.jpg", bytes, sizeof bytes, NULL, NULL), GR_ERR_DATA, 0,
                "declares 20000 x 20000 pixels");
#else
  SKIP("no libjpeg-turbo");
#endif
}

// A recording whose length the manifest says is looked at when all are listed.
static void recordings(void) {
  const char *manifest = fixture_corpus("cut", 20);
  fixture_data spec = fixture_spec(manifest);
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  MUST(gr_dataset_check_files(d, 0, 1));
  fixture_bytes(fixture_path("cut-u007.wav"), "RIFF\x24\x08\0\0WAVEfmt ", 16);
  fixture_text(fixture_path("cut-u009.wav"), "");
  fixture_fails(gr_dataset_check_files(d, 0, 1), GR_ERR_DATA, 8, "cut-u007.wav' is cut short");
  fixture_fails(gr_dataset_check_files(d, 1, 2), GR_ERR_DATA, 8, "cut-u007.wav' is cut short");
  MUST(gr_dataset_check_files(d, 0, 2));
  fixture_wav(fixture_path("cut-u007.wav"), 8000, 1, 80000, 1);
  fixture_fails(gr_dataset_check_files(d, 0, 1), GR_ERR_DATA, 8, "lasts 10.00 seconds");
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"each_once", each_once}, {"the_first", the_first}, {"stops", stops},
             {"paths", paths}, {"before_the_first", before_the_first}, {"heads", heads},
             {"heads_alone", heads_alone}, {"heads_of_large_images", heads_of_large_images},
             {"recordings", recordings});
}
