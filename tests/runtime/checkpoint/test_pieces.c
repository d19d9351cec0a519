// test_pieces.c - tensors that are read, converted and written in several pieces, of every size of
// piece: nothing is lost, repeated or mixed where one ends. Exports are read as .npz, too.
#include <unistd.h>
#include "base/text.h"
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/table/npz.h"
#include "tests/runtime/checkpoint/scratch.h"

enum { ROWS = 7, COLUMNS = 5, N = ROWS * COLUMNS, LONG = 41 };

static const char *dir;
static char path[512];

// One of each dtype; each byte of a tensor differs from its neighbours.
typedef struct model {
  float w[N];
  double d[LONG];
  uint16_t half[N], brain[LONG];
  int64_t i64[3];
  int32_t step;
  uint8_t u8[N];
} model;

static void fill(model *m) {
  for (int i = 0; i < N; i++) {
    m->w[i] = (float)i / 3, m->half[i] = (uint16_t)(0x3c00 + i), m->u8[i] = (uint8_t)(7 * i);
  }
  for (int i = 0; i < LONG; i++) m->d[i] = 1.0 / (i + 1), m->brain[i] = (uint16_t)(0x3f80 + i);
  for (int i = 0; i < 3; i++) m->i64[i] = -((int64_t)1 << (20 * i));
  m->step = 12345;
}

enum { TENSORS = 8 };
static void list(model *m, gr_tensor_slice out[TENSORS]) {
  int64_t matrix[2] = {ROWS, COLUMNS}, cube[3] = {ROWS, 1, COLUMNS}, row[1] = {LONG}, few[1] = {3};
  int64_t none[2] = {0, 4};
  gr_tensor_slice all[TENSORS] = {gr_tensor_slice_whole("body.0.weight", "f32", 2, matrix, m->w),
                                  gr_tensor_slice_whole("d", "f64", 1, row, m->d),
                                  gr_tensor_slice_whole("half", "f16", 3, cube, m->half),
                                  gr_tensor_slice_whole("brain", "bf16", 1, row, m->brain),
                                  gr_tensor_slice_whole("i64", "i64", 1, few, m->i64),
                                  gr_tensor_slice_whole("step", "i32", 0, NULL, &m->step),
                                  gr_tensor_slice_whole("u8", "u8", 2, matrix, m->u8),
                                  gr_tensor_slice_whole("none", "f32", 2, none, m->w)};
  memcpy(out, all, sizeof all);
}

static gr_checkpoint *save(model *m) {
  gr_tensor_slice all[TENSORS];
  gr_saver *s;
  gr_checkpoint *c;
  char folder[600];
  fill(m), list(m, all);
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = all, .n_pieces = TENSORS, .keep_last = 1};
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 1, NULL, 0);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
  snprintf(folder, sizeof folder, "%s/step-00000001", dir);
  MUST(gr_checkpoint_open(folder, &c));
  return c;
}

static void as_before(void) {
  gr_chunks = (gr_chunk_sizes){64 << 20, 1 << 16, 16 << 20, UINT32_MAX};
}

static char *read_all(gr_arena *a, size_t *n) {
  char *text;
  MUST(gr_file_read(a, path, 1 << 20, &text, n));
  return text;
}

// ---- Exports ----------------------------------------------------------------------------------

static void safetensors_in_pieces(void) {
  model m;
  gr_checkpoint *c = save(&m);
  gr_checkpoint_exported done;
  gr_arena *a = gr_arena_create();
  size_t whole_bytes, n;
  snprintf(path, sizeof path, "%s/x.safetensors", dir);
  MUST(gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done));
  char *whole = read_all(a, &whole_bytes);
  for (int64_t piece = 1; piece <= 160; piece++) {
    gr_chunks.exported = gr_chunks.read = piece;
    MUST(gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done));
    char *text = read_all(a, &n);
    CHECK(n == whole_bytes && !memcmp(text, whole, n), "pieces of %d bytes", (int)piece);
  }
  as_before();
  gr_safetensors *s;
  gr_tensor_slice all[TENSORS];
  MUST(gr_safetensors_open(path, &s));
  int tensors, found = 0;
  const gr_tensor_slice *has = gr_safetensors_tensors(s, &tensors);
  list(&m, all);
  for (int i = 0; i < tensors; i++)
    for (int k = 0; k < TENSORS; k++) {
      char got[sizeof m] = {0};
      gr_tensor_slice want = has[i];
      if (strcmp(has[i].name, all[k].name)) continue;
      want.data = got, found++;
      MUST(gr_safetensors_read(s, i, &want));
      CHECK(!memcmp(got, all[k].data, (size_t)gr_tensor_slice_bytes(&all[k])), "%s", all[k].name);
    }
  CHECK(found == TENSORS, "%d of %d tensors", found, TENSORS);
  gr_safetensors_close(s);
  gr_checkpoint_close(c);
  gr_arena_destroy(a);
}

static bool same_shape(const gr_array *has, const gr_tensor_slice *want) {
  bool same = has->rank == want->rank;
  for (int d = 0; same && d < want->rank; d++) same = has->dim[d] == want->dims[d];
  return same;
}

static void holds(gr_npz *z, const gr_tensor_slice *want) {
  gr_array x;
  MUST(gr_npz_read(z, want->name, &x));
  bool brain = !strcmp(want->dtype, "bf16");
  size_t bytes = (size_t)gr_tensor_slice_bytes(want);
  CHECK(same_shape(&x, want), "shape of %s", want->name);
  CHECK(!strcmp(gr_array_type(&x), brain ? "f32" : want->dtype), "%s is %s", want->name,
        gr_array_type(&x));
  CHECK(brain || !memcmp(x.data, want->data, bytes), "%s differs", want->name);
  for (int64_t i = 0; brain && i < x.count; i++) {
    uint32_t bits = (uint32_t)((const uint16_t *)want->data)[i] << 16;
    CHECK(!memcmp(x.data + 4 * i, &bits, 4), "bf16 number %d", (int)i);
  }
}

static void export_npz(gr_checkpoint *c, model *m, const char *how) {
  gr_checkpoint_exported done;
  gr_tensor_slice all[TENSORS];
  gr_arena *a = gr_arena_create();
  gr_npz z;
  list(m, all);
  MUST(gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done));
  MUST(gr_npz_open(a, path, &z));
  CHECK(z.n == TENSORS && done.tensors == TENSORS, "%d members, %s", z.n, how);
  for (int i = 0; i < TENSORS; i++) holds(&z, &all[i]);
  gr_npz_close(&z);
  gr_arena_destroy(a);
}

static void npz_in_pieces(void) {
  model m;
  gr_checkpoint *c = save(&m);
  snprintf(path, sizeof path, "%s/x.npz", dir);
  export_npz(c, &m, "in one piece");
  for (int64_t piece = 1; piece <= 160; piece++) {
    gr_chunks.exported = gr_chunks.read = piece;
    export_npz(c, &m, "in pieces");
  }
  as_before();
  gr_checkpoint_close(c);
}

// Sizes and offsets of 64 bits, from some place of the file on, or from its beginning.
static void npz_of_64_bits(void) {
  model m;
  gr_checkpoint *c = save(&m);
  snprintf(path, sizeof path, "%s/wide.npz", dir);
  for (uint64_t limit = 0; limit < 4000; limit += 97) {
    gr_chunks.zip32 = limit;
    export_npz(c, &m, "of 64 bits");
    int reader = system(NULL) ? 0 : -1;
    if (limit % 970 || reader) continue;
    char command[1400];
    snprintf(command, sizeof command,
             "python3 -c 'import zipfile, sys; z = zipfile.ZipFile(sys.argv[1]); "
             "sys.exit(z.testzip() is not None or len(z.namelist()) != 8)' '%s' 2>/dev/null || "
             "! python3 -c 'import zipfile' 2>/dev/null",
             path);
    CHECK(!system(command), "Python's zipfile does not read it, with 64 bits from %d on",
          (int)limit);
  }
  as_before();
  gr_checkpoint_close(c);
}

static void other_endings_are_refused(void) {
  static const char *const names[] = {"x.pt",    "x.onnx",    "x",    "npz",
                                      "x.npz/y", "x.npz.tmp", "X.NPZ"};
  model m;
  gr_checkpoint *c = save(&m);
  gr_checkpoint_exported done;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    gr_status s =
        gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_WEIGHTS}, &done);
    CHECK(gr_status_code(s) == GR_ERR_USAGE &&
              strstr(gr_status_text(s), ".safetensors, .npz or .onnx"),
          "%s: %s", names[i], gr_status_text(s));
    CHECK(access(path, F_OK), "%s is written", names[i]);
    gr_status_drop(s);
  }
  gr_checkpoint_close(c);
}

// ---- Conversions ------------------------------------------------------------------------------

// Every slice of f16, bf16 and f64 read as f32, by every size of piece.
static void convert(gr_safetensors *s, int i, const float *all) {
  int n;
  gr_tensor_slice want = gr_safetensors_tensors(s, &n)[i];
  float got[LONG];
  want.dtype = "f32", want.data = got;
  for (int64_t first = 0; first < LONG; first++)
    for (int64_t size = 1; size <= LONG - first; size += 1 + size / 4) {
      want.offset[0] = first, want.size[0] = size;
      memset(got, 0x55, sizeof got);
      MUST(gr_safetensors_read(s, i, &want));
      CHECK(!memcmp(got, all + first, (size_t)size * 4), "%s from %d, %d numbers, pieces of %d",
            want.name, (int)first, (int)size, (int)gr_chunks.converted);
    }
}

static void conversions_in_pieces(void) {
  float want[3][LONG];
  char data[LONG * 12];
  for (int i = 0; i < LONG; i++) {
    uint32_t bits = (uint32_t)(0x3f80 + i) << 16;
    uint16_t half = (uint16_t)(0x3c00 + i), brain = (uint16_t)(0x3f80 + i);
    double wide = 1.0 / (i + 1);
    want[0][i] = (float)wide, want[1][i] = 1 + (float)i / 1024;
    memcpy(&want[2][i], &bits, 4);
    memcpy(data + 8 * i, &wide, 8);
    memcpy(data + LONG * 8 + 2 * i, &half, 2), memcpy(data + LONG * 10 + 2 * i, &brain, 2);
  }
  snprintf(path, sizeof path, "%s/x.safetensors", dir);
  char header[] =
      "{\"d\":{\"dtype\":\"F64\",\"shape\":[41],\"data_offsets\":[0,328]},"
      "\"h\":{\"dtype\":\"F16\",\"shape\":[41],\"data_offsets\":[328,410]},"
      "\"b\":{\"dtype\":\"BF16\",\"shape\":[41],\"data_offsets\":[410,492]}}";
  FILE *f = fopen(path, "wb");
  for (int i = 0; i < 8; i++) fputc(i ? 0 : (int)strlen(header), f);
  fwrite(header, 1, strlen(header), f), fwrite(data, 1, sizeof data, f), fclose(f);
  for (int64_t piece = 8; piece <= 100; piece += 1 + piece / 8) {
    gr_chunks.converted = piece;
    gr_safetensors *s;
    MUST(gr_safetensors_open(path, &s));
    for (int i = 0; i < 3; i++) convert(s, i, want[i]);
    gr_safetensors_close(s);
  }
  as_before();
}

// ---- Frames -----------------------------------------------------------------------------------

// A tensor of several frames (4 MiB each), and slices of it that cross their ends.
static void slices_across_frames(void) {
  enum { FRAME = 1 << 20, ELEMENTS = 2 * FRAME + 1000 };
  static int32_t data[ELEMENTS], got[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) data[i] = i;
  int64_t dims[1] = {ELEMENTS};
  gr_tensor_slice t = gr_tensor_slice_whole("long", "i32", 1, dims, data);
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = &t, .n_pieces = 1, .keep_last = 9};
  gr_saver *s;
  gr_checkpoint *c;
  char folder[600];
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 2, NULL, 0);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
  snprintf(folder, sizeof folder, "%s/step-00000002", dir);
  MUST(gr_checkpoint_open(folder, &c));
  MUST(gr_checkpoint_verify(c));
  static const int64_t cuts[][2] = {{0, ELEMENTS},          {FRAME - 1, 2},   {FRAME, FRAME},
                                    {FRAME - 3, FRAME + 6}, {2 * FRAME, 1},   {2 * FRAME - 1, 1001},
                                    {1, 2 * FRAME},         {ELEMENTS - 1, 1}};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    t.offset[0] = cuts[i][0], t.size[0] = cuts[i][1], t.data = got;
    memset(got, 0x55, sizeof got);
    MUST(gr_checkpoint_read(c, &t));
    CHECK(!memcmp(got, data + cuts[i][0], (size_t)cuts[i][1] * 4), "%d from %d", (int)cuts[i][1],
          (int)cuts[i][0]);
  }
  gr_checkpoint_close(c);
}

int main(int argc, char **argv) {
  dir = scratch_dir("pieces");
  int failed = RUN(argc, argv, {"safetensors_in_pieces", safetensors_in_pieces},
                   {"npz_in_pieces", npz_in_pieces}, {"npz_of_64_bits", npz_of_64_bits},
                   {"other_endings_are_refused", other_endings_are_refused},
                   {"conversions_in_pieces", conversions_in_pieces},
                   {"slices_across_frames", slices_across_frames});
  scratch_remove(dir);
  return failed;
}
