// test_source.c - tensors of other programs: .npz and an index of safetensors, converted and cut
// into slices; and new names by patterns.
#include <string.h>
#include "base/rename.h"
#include "runtime/train/saving/source.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *dir;

typedef struct bytes {
  unsigned char data[4096];
  size_t n;
} bytes;

static void put(bytes *b, const void *p, size_t n) {
  memcpy(b->data + b->n, p, n);
  b->n += n;
}

static void put_number(bytes *b, uint64_t v, int n) {
  for (; n--; v >>= 8) b->data[b->n++] = (unsigned char)v;
}

static const char *write_file(const char *name, const bytes *b) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(b->data, 1, b->n, f) == b->n, "cannot write %s", path);
  if (f) fclose(f);
  return path;
}

// ---- .npz ---------------------------------------------------------------------------------------

static uint32_t crc_of(const unsigned char *p, size_t n) {
  uint32_t crc = UINT32_MAX;
  for (; n--; p++) {
    crc ^= *p;
    for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

static void add_array(bytes *all, bytes *list, const char *name, const char *descr,
                      const char *shape, const void *data, size_t n) {
  bytes b = {.n = 0};
  char head[119], member[64];
  memset(head, ' ', sizeof head);
  int len = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                     descr, shape);
  head[len] = ' ', head[117] = '\n';
  put(&b, "\x93NUMPY\x01\x00\x76\x00", 10), put(&b, head, 118), put(&b, data, n);
  snprintf(member, sizeof member, "%s.npy", name);
  uint64_t offset = all->n, crc = crc_of(b.data, b.n);
  for (int k = 0; k < 2; k++) {
    bytes *to = k ? list : all;
    put_number(to, k ? 0x02014b50 : 0x04034b50, 4);
    if (k) put_number(to, 20, 2);
    put_number(to, 20, 2), put_number(to, 0, 8), put_number(to, crc, 4);
    put_number(to, b.n, 4), put_number(to, b.n, 4), put_number(to, strlen(member), 2);
    put_number(to, 0, 2);
    if (k) put_number(to, 0, 10), put_number(to, offset, 4);
    put(to, member, strlen(member));
  }
  put(all, b.data, b.n);
}

static const char *write_npz(void) {
  static const double wide[] = {0, 1, 2, 3, 4, 5, 6, 1.0 / 3};
  static const uint16_t half[] = {0x3c00, 0xc000};
  static const int64_t count[] = {7};
  bytes all = {.n = 0}, list = {.n = 0};
  add_array(&all, &list, "a.wide", "<f8", "2, 4", wide, sizeof wide);
  add_array(&all, &list, "a.half", "<f2", "2,", half, sizeof half);
  add_array(&all, &list, "count", "<i8", "1,", count, sizeof count);
  uint64_t offset = all.n;
  put(&all, list.data, list.n);
  put_number(&all, 0x06054b50, 4), put_number(&all, 0, 4), put_number(&all, 3, 2);
  put_number(&all, 3, 2), put_number(&all, list.n, 4), put_number(&all, offset, 4);
  put_number(&all, 0, 2);
  return write_file("x.npz", &all);
}

// The slice [0:2, 1:3] of an f32 tensor of shape [2,4].
static gr_tensor_slice middle(float *data) {
  gr_tensor_slice s =
      gr_tensor_slice_whole("of the model", "f32", 2, (const int64_t[]){2, 4}, data);
  s.offset[1] = 1, s.size[1] = 2;
  return s;
}

static void npz(void) {
  gr_tensor_source *s;
  int n;
  float got[4];
  int64_t whole = 0;
  MUST(gr_tensor_source_open(write_npz(), &s));
  const gr_tensor_slice *t = gr_tensor_source_tensors(s, &n);
  CHECK(n == 3 && !strcmp(t[0].name, "a.wide") && t[0].rank == 2 && t[0].dims[1] == 4, "%d", n);
  CHECK(!strcmp(t[0].dtype, "f64") && !strcmp(t[1].dtype, "f16") && !strcmp(t[2].dtype, "i64"),
        "%s %s %s", t[0].dtype, t[1].dtype, t[2].dtype);
  CHECK(gr_tensor_source_converts(s, 0, "f32") && gr_tensor_source_converts(s, 2, "i64"), "yes");
  CHECK(!gr_tensor_source_converts(s, 2, "f32") && !gr_tensor_source_converts(s, 0, "i64"), "no");
  gr_tensor_slice want = middle(got);
  MUST(gr_tensor_source_read(s, 0, &want));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 5 && got[3] == 6, "%g %g", (double)got[0],
        (double)got[2]);
  want = gr_tensor_slice_whole("h", "f32", 1, (const int64_t[]){2}, got);
  MUST(gr_tensor_source_read(s, 1, &want));
  CHECK(got[0] == 1 && got[1] == -2, "f16: %g %g", (double)got[0], (double)got[1]);
  want = gr_tensor_slice_whole("c", "i64", 1, (const int64_t[]){1}, &whole);
  MUST(gr_tensor_source_read(s, 2, &want));
  CHECK(whole == 7, "i64: %lld", (long long)whole);
  gr_tensor_source_close(s);
}

// ---- Safetensors --------------------------------------------------------------------------------

static void write_shard(const char *name, const char *header, const void *data, size_t n) {
  bytes b = {.n = 0};
  put_number(&b, strlen(header), 8), put(&b, header, strlen(header)), put(&b, data, n);
  write_file(name, &b);
}

static void write_text(const char *name, const char *text) {
  bytes b = {.n = 0};
  put(&b, text, strlen(text));
  write_file(name, &b);
}

static const char *in_dir(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static void shards(void) {
  static const float one[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const uint16_t brain[] = {0x3f80, 0xc049};
  static const int64_t count[] = {7};
  write_shard("1.safetensors",
              "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]}}", one, 32);
  char two[12];
  memcpy(two, count, 8), memcpy(two + 8, brain, 4);
  write_shard("2.safetensors",
              "{\"n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
              "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]}}",
              two, 12);
  write_text("m.index.json",
             "{\"metadata\":{},\"weight_map\":{\"b\":\"2.safetensors\","
             "\"w\":\"1.safetensors\",\"n\":\"2.safetensors\"}}");
  gr_tensor_source *s;
  int n;
  float got[4];
  int64_t whole = 0;
  MUST(gr_tensor_source_open(in_dir("m.index.json"), &s));
  const gr_tensor_slice *t = gr_tensor_source_tensors(s, &n);
  CHECK(n == 3 && !strcmp(t[0].name, "b") && !strcmp(t[1].name, "w"), "%d", n);
  gr_tensor_slice want = middle(got);
  MUST(gr_tensor_source_read(s, 1, &want));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 5 && got[3] == 6, "a slice of f32");
  want = gr_tensor_slice_whole("x", "f32", 1, (const int64_t[]){2}, got);
  MUST(gr_tensor_source_read(s, 0, &want));
  CHECK(got[0] == 1 && got[1] == -3.140625f, "bf16");
  want = gr_tensor_slice_whole("x", "i64", 1, (const int64_t[]){1}, &whole);
  CHECK(gr_tensor_source_converts(s, 2, "i64"), "i64 is i64");
  MUST(gr_tensor_source_read(s, 2, &want));
  CHECK(whole == 7, "i64: %lld", (long long)whole);
  gr_tensor_source_close(s);
}

static void refuses(const char *text, const char *why) {
  gr_tensor_source *s;
  write_text("bad.index.json", text);
  gr_status e = gr_tensor_source_open(in_dir("bad.index.json"), &s);
  CHECK(e && !s && strstr(gr_status_text(e), why), "'%s': %s", text, e ? gr_status_text(e) : "ok");
  gr_status_drop(e);
}

static void bad_indices(void) {
  refuses("[1]", "no \"weight_map\"");
  refuses("{\"weight_map\": 3}", "no \"weight_map\"");
  refuses("{\"weight_map\": {\"w\": 3}}", "no name of a file: w");
  refuses("{\"weight_map\": {\"w\": \"../1.safetensors\"}}", "no name of a file: w");
  refuses("{\"weight_map\": {\"v\": \"1.safetensors\"}}",
          "'1.safetensors' lacks a tensor of it: v");
  refuses("{\"weight_map\": {\"w\": \"none.safetensors\"}}", "none.safetensors");
  refuses("{\"weight_map\"", "is no index");
}

// A file that is cut off anywhere is refused.
static void cut(const char *name, const bytes *whole) {
  for (size_t n = 0; n < whole->n; n++) {
    bytes b = *whole;
    gr_tensor_source *s;
    b.n = n;
    gr_status e = gr_tensor_source_open(write_file(name, &b), &s);
    CHECK(e && !s, "%zu of %zu bytes of %s", n, whole->n, name);
    gr_status_drop(e);
  }
}

// A file that is cut off while weights are loaded from it gives an error, not zeros.
static void cut_while_open(void) {
  gr_tensor_source *s;
  float got[4];
  const char *path = write_npz();
  MUST(gr_tensor_source_open(path, &s));
  gr_tensor_slice want = middle(got);
  MUST(gr_tensor_source_read(s, 0, &want));
  CHECK(!truncate(path, 0), "cannot cut %s off", path);
  gr_status e = gr_tensor_source_read(s, 0, &want);
  CHECK(gr_status_code(e) == GR_ERR_DATA && strstr(gr_status_text(e), "x.npz"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  gr_tensor_source_close(s);
}

static bytes contents(const char *path) {
  bytes b = {.n = 0};
  FILE *f = fopen(path, "rb");
  CHECK(f, "cannot read %s", path);
  if (f) b.n = fread(b.data, 1, sizeof b.data, f), fclose(f);
  return b;
}

static void cut_files(void) {
  bytes npz = contents(write_npz()), index = contents(in_dir("m.index.json"));
  CHECK(npz.n > 400 && index.n > 50, "%zu and %zu bytes", npz.n, index.n);
  cut("cut.npz", &npz);
  cut("cut.index.json", &index);
}

// ---- Names --------------------------------------------------------------------------------------

static void renames(void) {
  static const struct row {
    const char *pattern, *to, *name, *want;
  } rows[] = {{"encoder.*", "backbone.*", "encoder.0.w", "backbone.0.w"},
              {"encoder.*", "backbone.*", "decoder.0.w", NULL},
              {"w", "v", "w", "v"},
              {"w", "v", "ww", NULL},
              {"*", "model.*", "w", "model.w"},
              {"*.w", "*.v", "a.w.w", "a.w.v"},
              {"*.attn.*.w", "*.self.*.v", "l.0.attn.q.w", "l.0.self.q.v"},
              {"*a*b", "*-*", "aab", "-a"},
              {"a*a", "*", "a", NULL},
              {"*b*c", "*.*", "abb", NULL},
              {"**", "*-*", "xy", "-xy"}};
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *got = gr_renamed(a, rows[i].pattern, rows[i].to, rows[i].name);
    bool same = got && rows[i].want ? !strcmp(got, rows[i].want) : got == rows[i].want;
    CHECK(same, "%s by %s: %s", rows[i].name, rows[i].pattern, got ? got : "none");
  }
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  dir = scratch_dir("source");
  int failed =
      RUN(argc, argv, {"npz", npz}, {"shards", shards}, {"bad indices", bad_indices},
          {"cut files", cut_files}, {"cut while open", cut_while_open}, {"renames", renames});
  scratch_remove(dir);
  return failed;
}
