// test_archive.c - samples in .tar files: which members are one, their texts and places; names and
// sizes in each of the formats; and what is wrong with an archive.
#include "runtime/data/archive.h"
#include "tests/runtime/data/images.h"

// ---- Writing ------------------------------------------------------------------------------------

static unsigned char bytes[1 << 16];
static size_t used;

static void begin(void) { memset(bytes, 0, sizeof bytes), used = 0; }

static void set_sum(unsigned char *head) {
  unsigned sum = 0;
  memset(head + 148, ' ', 8);
  for (int i = 0; i < 512; i++) sum += head[i];
  snprintf((char *)head + 148, 8, "%06o", sum);
}

// A member of a type with a size as its header says it, in octal.
static unsigned char *put(char type, const char *name, const void *data, size_t n) {
  unsigned char *head = bytes + used;
  memcpy(head, name, strlen(name));
  snprintf((char *)head + 124, 12, "%011zo", n);
  head[156] = (unsigned char)type;
  memcpy(head + 257,
         "ustar\0"
         "00",
         8);
  set_sum(head);
  if (n) memcpy(head + 512, data, n);
  used += 512 + (n + 511) / 512 * 512;
  return head;
}

static void add(const char *name, const char *text) { put('0', name, text, strlen(text)); }

// With the mark of the end.
static const char *end(void) {
  const char *path = fixture_path("a.tar");
  fixture_bytes(path, bytes, used + 1024);
  return path;
}

static char *lines_of(gr_arena *a, const char *path) {
  char *text;
  size_t n;
  MUST(gr_archive_lines(a, path, "path", &text, &n));
  CHECK(strlen(text) == n, "the length");
  return text;
}

static void expect(const char *want) {
  gr_arena *a = gr_arena_create();
  char *got = lines_of(a, end());
  CHECK(!strcmp(got, want), "%s", got);
  gr_arena_destroy(a);
}

static void fails(const char *path, const char *part) {
  gr_arena *a = gr_arena_create();
  char *text;
  size_t n;
  fixture_fails(gr_archive_lines(a, path, "path", &text, &n), GR_ERR_DATA, 0, part);
  gr_arena_destroy(a);
}

// ---- What is read -------------------------------------------------------------------------------

static void samples(void) {
  begin();
  put('5', "d/", "", 0);
  add("./d/one.jpg", "12345");
  add("./d/one.cls", "3\n");
  add("d/one.json",
      "{\"label\": 4, \"path\": \"x\", \"path.bytes\": 1, \"mask\": 2, \"of\": [1, {}]}");
  add("two.CLS", "012");
  add("two.txt", "\"quoted\"\r\n\n");
  add("two.json", "{\"text\": \"other\", \"masked\": true, \"path.n\": 0.5}");
  add("three.mask.PNG", "mask");
  add("three.wav", "");
  add("three.big.pyd", "left");
  add(".three.hidden", "");
  expect(
      "{\"path\": \"d/one.jpg\", \"path.offset\": 1024, \"path.bytes\": 5, \"label\": 3, \"of\": "
      "[1, {}]}\n"
      "{\"label\": \"012\", \"text\": \"\\\"quoted\\\"\", \"masked\": true, \"path.n\": 0.5}\n"
      "{\"path\": \"three.wav\", \"path.offset\": 8192, \"path.bytes\": 0, \"mask\": "
      "\"three.mask.PNG\", \"mask.offset\": 7168, \"mask.bytes\": 4, \"big.pyd\": "
      "\"three.big.pyd\"}\n");
}

static void formats(void) {
  static const char record[] = "25 path=of pax\xc3\xa9/key.jpg\n19 comment=nothing\n";
  char name[301];
  begin();
  memcpy(put('0', "b.txt", "x", 1) + 345, "folders/of", 10), set_sum(bytes);  // ustar's prefix
  unsigned char *old = put('\0', "c.txt", "y", 1);
  memset(old + 257, 0, 8), memcpy(old + 345, "none", 4), set_sum(old);  // of no version
  memset(name, 'n', 300), memcpy(name + 292, "ame.txt", 8), name[299] = 0;
  put('L', "././@LongLink", name, 300);
  add("nnn", "z");
  put('x', "PaxHeader", record, strlen(record));
  add("short.jpg", "12");
  unsigned char *large = put('0', "e.jpg", "1234", 4);  // its size in base 256
  memset(large + 124, 0, 12), large[124] = 0x80, large[135] = 4, set_sum(large);
  gr_arena *a = gr_arena_create();
  char *got = lines_of(a, end());
  CHECK(strstr(got, "{\"text\": \"x\"}\n{\"text\": \"y\"}\n{\"text\": \"z\"}\n") == got, "%s", got);
  CHECK(strstr(got, "{\"path\": \"of pax\xc3\xa9/key.jpg\", \"path.offset\": ") != NULL, "%s", got);
  CHECK(strstr(got, "{\"path\": \"e.jpg\"") && strstr(got, "\"path.bytes\": 4}\n"), "%s", got);
  gr_arena_destroy(a);
}

// The size of a member is that of pax, where it has one.
static void pax_size(void) {
  begin();
  put('x', "PaxHeader", "10 size=3\n", 10);
  unsigned char *head = put('0', "a.txt", "abcdef", 6);
  memset(head + 124, '0', 11), set_sum(head);
  expect("{\"text\": \"abc\"}\n");
}

// ---- What is wrong ------------------------------------------------------------------------------

static void damaged(void) {
  begin();
  add("a.jpg", "123");
  bytes[0] = 'b';
  fails(end(), "is damaged at byte 0: there is no header of a member");
  bytes[0] = 'a';
  fixture_bytes(fixture_path("a.tar"), bytes, 600);
  fails(fixture_path("a.tar"), "is cut short: it has no mark of its end");
  fixture_bytes(fixture_path("a.tar"), bytes, 513);
  fails(fixture_path("a.tar"), "is cut short: 'a.jpg' has 3 bytes, and 1 are there");
  fixture_bytes(fixture_path("a.tar"), bytes, 0);
  fails(fixture_path("a.tar"), "is cut short");
  memset(bytes + 124, 'x', 11), set_sum(bytes);
  fails(end(), "a member's size is no number");
  memset(bytes + 124, 0xff, 12), set_sum(bytes);
  fails(end(), "a member's size is no number");
  static const char *const records[] = {
      "x",        "0 path=a\n", "6 path=a\n",     "99 path=a\n",
      "8 path=a", "7 path\n",   "12 size=3x\n\n", "99999999999999999999 path=a\n"};
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
    begin();
    put('x', "PaxHeader", records[i], strlen(records[i]));
    add("a.txt", "x");
    fails(end(), "it has a pax header that cannot be read");
  }
  // Records of digits to the end of the last page of the file.
  begin();
  memset(bytes + 8192, '1', 4096 - 512);
  put('x', "PaxHeader", bytes + 8192, 4096 - 512);
  fixture_bytes(fixture_path("a.tar"), bytes, 4096);
  fails(fixture_path("a.tar"), "it has a pax header that cannot be read");
  begin();
  fails(end(), "has no samples");
}

static void refused(void) {
  static const struct {
    const char *first, *text, *second, *why;
    char type;
  } all[] = {
      {"a.jpg", "x", "b.jpg", "'b.jpg' in", '2'},
      {"a.jpg", "x", "b", "has no ending", '0'},
      {"a.jpg", "x", "a.png", "is a second file of its sample, beside 'a.jpg'", '0'},
      {"a.mask.png", "x", "a.seg.png", "is a second file of its sample, beside 'a.mask.png'", '0'},
      {"a.json", "[1]", "b.jpg", "'a.json' in", '0'},
      {"a.json", "{\"a\":\n x}", "b.jpg", "line 2, column 2: expected a value, found 'x'", '0'},
      {"a.txt", "\xff", "b.jpg", "is no text in UTF-8", '0'},
      {"a.foo", "x", "a.foo", "a.tar", '0'}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    begin();
    add(all[i].first, all[i].text);
    put(all[i].type, all[i].second, "", 0);
    if (i + 1 < sizeof all / sizeof *all) fails(end(), all[i].why);
  }
  begin();
  add("a.jpg", "1"), add("b.jpg", "2"), add("a.cls", "3");
  fails(end(), "'a.cls' in");
  fails(end(), "is apart from the other members of its sample");
}

// ---- Images -------------------------------------------------------------------------------------

static void put_image(const char *name, int value) {
  unsigned char all[32] = "P5\n3 2\n255\n";
  memset(all + 11, value, H * W);
  put('0', name, all, 11 + H * W);
}

static void images_of_it(void) {
  begin();
  for (int i = 0; i < 6; i++) {
    char name[16], class[2] = {(char)('0' + i % 2), 0};
    snprintf(name, sizeof name, "%d.pgm", i), put_image(name, 10 * i);
    snprintf(name, sizeof name, "%d.cls", i), add(name, class);
  }
  images m = of_path("a.tar");
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  m.spec.path = end();
  MUST(open_images(&m, &d));
  CHECK(d->classes && d->classes->n == 2 && d->samples[3].label == 2, "classes");
  MUST(gr_loader_open(d, &(gr_loader_spec){.batch = 16, .ranks = 1, .epochs = 1, .prefetch = 1},
                      &l));
  MUST(gr_loader_next(l, &b));
  const unsigned char *x = fixture_field(b, "x", &t);
  for (uint32_t i = 0; i < 6; i++)
    CHECK(x[i * H * W] == 10 * b->sample[i], "image %u is %d", b->sample[i], x[i * H * W]);
  gr_loader_close(l);
  MUST(gr_dataset_check_files(d, 0, 1));
  fixture_bytes(m.spec.path, bytes, 3 * 1024);  // cut short meanwhile
  gr_arena *a = gr_arena_create();
  gr_mapping map;
  const unsigned char *p;
  fixture_fails(gr_member_open(&(gr_member){m.spec.path, 5632, 17}, "5.pgm", &map, &p), GR_ERR_DATA,
                0, "'5.pgm' is not there any more");
  MUST(gr_member_open(&(gr_member){m.spec.path, 512, 17}, "0.pgm", &map, &p));
  CHECK(!memcmp(p, "P5\n", 3), "its bytes");
  MUST(gr_mapping_end(&map, GR_OK));
  gr_arena_destroy(a);
  gr_dataset_close(d);
}

// A sample without an image, and one that is no image, have their places.
static void images_lacking(void) {
  gr_dataset *d;
  images m = of_path("a.tar");
  begin();
  put_image("a.pgm", 1), add("a.cls", "0"), add("b.cls", "1");
  m.spec.path = end();
  fixture_fails(open_images(&m, &d), GR_ERR_DATA, 2, "there is no path in this sample");
  begin();
  put_image("a.pgm", 1), add("a.cls", "0"), add("b.pgm", "P5"), add("b.cls", "1");
  end();
  MUST(open_images(&m, &d));
  fixture_fails(gr_dataset_check_files(d, 0, 1), GR_ERR_DATA, 2, "b.pgm");
  gr_dataset_close(d);
}

static void names(void) {
  CHECK(gr_archive_named("a/b.TAR") && gr_archive_named("x-{0..9}.tar"), "an archive");
  CHECK(!gr_archive_named("tar") && !gr_archive_named("a.tar.gz"), "none");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"samples", samples}, {"formats", formats}, {"pax_size", pax_size},
             {"damaged", damaged}, {"refused", refused}, {"images_of_it", images_of_it},
             {"images_lacking", images_lacking}, {"names", names});
}
