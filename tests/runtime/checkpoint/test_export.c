// test_export.c - the file that gr_checkpoint_export writes, read byte by byte as its format says.
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "tests/runtime/checkpoint/tiny.h"

typedef struct exported {
  gr_arena *arena;
  char *text;
  size_t len, data;  // of the file; where its data begins
  const gr_json *header;
} exported;

static const char *dir;
static char path[512];

static exported read_back(void) {
  exported x = {.arena = gr_arena_create()};
  gr_json_error why;
  uint64_t head = 0;
  MUST(gr_file_read(x.arena, path, 1 << 20, &x.text, &x.len));
  CHECK(x.len > 8, "%zu bytes", x.len);
  for (int i = 8; i--;) head = head << 8 | (unsigned char)x.text[i];
  x.data = 8 + (size_t)head;
  CHECK(x.data <= x.len && x.data % 8 == 0, "the header has %zu of %zu bytes", x.data, x.len);
  char *json = gr_arena_strndup(x.arena, x.text + 8, (size_t)head);
  bool ok = gr_json_read(x.arena, json, (size_t)head, &x.header, &why);
  CHECK(ok && x.header->kind == GR_JSON_OBJECT, "%s", ok ? "no object" : why.why);
  if (!ok) check_leave();
  return x;
}

// The tensor's bytes, which must be aligned; checks what the header says of it.
static const void *tensor(const exported *x, const char *name, const char *dtype, int rank,
                          size_t bytes) {
  const gr_json *t = gr_json_get(x->header, name, GR_JSON_OBJECT);
  CHECK(t, "'%s' is not there", name);
  if (!t) check_leave();
  const gr_json *range = gr_json_get(t, "data_offsets", GR_JSON_ARRAY);
  const gr_json *shape = gr_json_get(t, "shape", GR_JSON_ARRAY);
  int64_t begin = range->first->i, end = range->first->next->i;
  CHECK(!strcmp(gr_json_get(t, "dtype", GR_JSON_TEXT)->text, dtype), "dtype of %s", name);
  CHECK(shape->n == rank, "%s has %d dimensions", name, shape->n);
  CHECK((size_t)(end - begin) == bytes && x->data + (size_t)end <= x->len, "%s is at %lld to %lld",
        name, (long long)begin, (long long)end);
  return x->text + x->data + begin;
}

static gr_checkpoint *open_step(int64_t step) {
  char folder[600];
  gr_checkpoint *c;
  snprintf(folder, sizeof folder, "%s/step-%08lld", dir, (long long)step);
  MUST(gr_checkpoint_open(folder, &c));
  return c;
}

static void joins_slices(void) {
  tiny want;
  gr_checkpoint_exported done;
  for (int ranks = 1; ranks <= 4; ranks++) {
    MUST(tiny_save(dir, ranks, ranks, 40 + ranks, 10));
    gr_checkpoint *c = open_step(ranks);
    MUST(gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done));
    gr_checkpoint_close(c);
    tiny_fill(&want, 40 + ranks);
    exported x = read_back();
    CHECK(done.tensors == 3 && done.bytes == 152, "%d of %lld", done.tensors,
          (long long)done.bytes);
    CHECK(x.len == x.data + 152 && x.header->n == 4, "%zu bytes, %d members", x.len, x.header->n);
    CHECK(!memcmp(tensor(&x, "a", "F32", 2, 120), want.a, 120), "a of %d ranks", ranks);
    CHECK(!memcmp(tensor(&x, "b", "F64", 1, 24), want.b, 24), "b of %d ranks", ranks);
    CHECK(!memcmp(tensor(&x, "n", "I64", 0, 8), &want.n, 8), "n of %d ranks", ranks);
    gr_arena_destroy(x.arena);
  }
}

// What the scalar names is left out, unless it is asked for.
static void leaves_out_the_optimizer(void) {
  float w[6] = {1, 2, 3, 4, 5, 6}, m[6] = {0};
  double empty = 0;
  int32_t step = 7;
  int64_t dims[2] = {2, 3}, none[1] = {0};
  gr_tensor_slice all[] = {gr_tensor_slice_whole("w", "f32", 2, dims, w),
                           gr_tensor_slice_whole("w.m", "f32", 2, dims, m),
                           gr_tensor_slice_whole("w.mean", "f64", 1, none, &empty),
                           gr_tensor_slice_whole("step", "i32", 0, NULL, &step)};
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = all, .n_pieces = 4, .keep_last = 20};
  gr_scalar scalar = {GR_CHECKPOINT_OPTIMIZER, GR_SCALAR_TEXT, .text = "step\nw.m"};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 90, &scalar, 1);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
  for (int optimizer = 0; optimizer < 2; optimizer++) {
    gr_checkpoint_exported done;
    gr_checkpoint *c = open_step(90);
    MUST(gr_checkpoint_export(
        c, path, &(gr_export_request){optimizer ? GR_EXPORT_EVERYTHING : GR_EXPORT_WEIGHTS},
        &done));
    gr_checkpoint_close(c);
    exported x = read_back();
    const gr_json *meta = gr_json_get(x.header, "__metadata__", GR_JSON_OBJECT);
    CHECK(meta && !strcmp(gr_json_get(meta, "format", GR_JSON_TEXT)->text, "pt"), "format");
    CHECK(done.tensors == (optimizer ? 4 : 2), "%d tensors", done.tensors);
    CHECK(!memcmp(tensor(&x, "w", "F32", 2, 24), w, 24), "w");
    (void)tensor(&x, "w.mean", "F64", 1, 0);
    CHECK(!gr_json_get(x.header, "w.m", GR_JSON_OBJECT) == !optimizer, "w.m");
    if (optimizer) CHECK(*(const char *)tensor(&x, "step", "I32", 0, 4) == 7, "step");
    gr_arena_destroy(x.arena);
  }
}

static int is_temporary(const struct dirent *e) { return strstr(e->d_name, "tmp") != NULL; }

// A file that was there stays as it is, and nothing else is left.
static void fails_whole(void) {
  gr_checkpoint_exported done;
  char file[600], beside[600];
  MUST(tiny_save(dir, 2, 95, 5, 20));
  FILE *f = fopen(path, "w");
  fputs("before", f);
  fclose(f);
  snprintf(file, sizeof file, "%s/step-00000095/rank-00001.safetensors.zst", dir);
  gr_checkpoint *c = open_step(95);
  f = fopen(file, "r+b");
  fseek(f, -3, SEEK_END);
  fputs("xyz", f);
  fclose(f);
  gr_status s =
      gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done);
  CHECK(gr_status_code(s) == GR_ERR_CHECKPOINT, "%s", gr_status_text(s));
  gr_status_drop(s);
  snprintf(beside, sizeof beside, "%s/gone/x.safetensors", dir);
  s = gr_checkpoint_export(c, beside, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done);
  CHECK(gr_status_code(s) == GR_ERR_IO, "%s", gr_status_text(s));
  gr_status_drop(s);
  gr_checkpoint_close(c);
  struct dirent **names;
  int n = scandir(dir, &names, is_temporary, NULL);
  CHECK(n == 0, "%d temporary files are left", n);
  char text[16] = "";
  f = fopen(path, "r");
  CHECK(fgets(text, sizeof text, f) && !strcmp(text, "before"), "it is '%s'", text);
  fclose(f);
}

int main(int argc, char **argv) {
  dir = scratch_dir("export");
  snprintf(path, sizeof path, "%s/model.safetensors", dir);
  int failed =
      RUN(argc, argv, {"joins slices", joins_slices},
          {"leaves out the optimizer", leaves_out_the_optimizer}, {"fails whole", fails_whole});
  scratch_remove(dir);
  return failed;
}
