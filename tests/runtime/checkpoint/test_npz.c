// test_npz.c - the archive for NumPy that gr_checkpoint_export writes: as the source `table` reads
// it, and byte by byte where that looks at other places of the file.
#define _GNU_SOURCE
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/export.h"
#include "runtime/data/table/npz.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *dir;
static char path[512];

static const float a[] = {1, -2, 3.5f, 4, 5, 6}, v[] = {0.25f, 7, -8};
static const double d[] = {1.0 / 3};
static const uint16_t h[] = {0x3f80, 0xc040, 0x3e00, 0x0000, 0x4170};  // bf16
static const float widened[] = {1, -3, 0.125f, 0, 15};
static const int32_t n = 77;
static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7};

static gr_tensor_slice slice(const char *name, const char *dtype, int rank, int64_t x, int64_t y,
                             const void *data) {
  return gr_tensor_slice_whole(name, dtype, rank, (int64_t[]){x, y}, (void *)(uintptr_t)data);
}

static void save(void) {
  gr_tensor_slice all[] = {slice("a", "f32", 2, 2, 3, a),  slice("v", "f32", 1, 3, 0, v),
                           slice("d", "f64", 1, 1, 0, d),  slice("h", "bf16", 1, 5, 0, h),
                           slice("n", "i32", 0, 0, 0, &n), slice("u", "u8", 1, 7, 0, bytes)};
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = all, .n_pieces = 6, .keep_last = 2};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  gr_status e = gr_saver_begin(s, 1, NULL, 0);
  MUST(gr_also(e, gr_saver_finish(s)));
  gr_saver_close(s);
}

static void export(void) {
  char folder[600];
  gr_checkpoint *c;
  gr_checkpoint_exported done;
  snprintf(folder, sizeof folder, "%s/step-%08d", dir, 1);
  MUST(gr_checkpoint_open(folder, &c));
  MUST(gr_checkpoint_export(c, path, &(gr_export_request){.what = GR_EXPORT_EVERYTHING}, &done));
  CHECK(done.tensors == 6, "%d tensors", done.tensors);
  gr_checkpoint_close(c);
}

static void holds(gr_npz *z, const char *name, int rank, int64_t count, const void *want,
                  size_t size) {
  gr_array x;
  MUST(gr_npz_read(z, name, &x));
  CHECK(x.rank == rank && x.count == count && x.size == size, "%s: %d axes, %lld values of %zu",
        name, x.rank, (long long)x.count, x.size);
  CHECK(!memcmp(x.data, want, (size_t)count * size), "%s has other values", name);
}

static uint64_t number(const char *p, int size) {
  uint64_t out = 0;
  for (int i = size; i-- > 0;) out = out << 8 | (unsigned char)p[i];
  return out;
}

// What is between the arrays and behind them: of a size or place of `wide` or more the record has
// 64 bits, and 32 that are set.
static void check_records(const gr_npz *z, uint64_t wide) {
  const char *file = (const char *)z->map.data, *entry = NULL;
  uint64_t end = 0;
  for (int i = 0; i < z->n; i++) {
    const gr_npz_member *m = &z->members[i];
    const char *head = file + m->offset;
    CHECK(i ? m->offset == end : !m->offset, "%s is not behind the one before", m->name);
    uint64_t begin = m->offset + 30 + number(head + 26, 2) + number(head + 28, 2);
    const char *array = file + begin, *tail = array + m->size;
    CHECK((10 + number(array + 8, 2)) % 64 == 0, "the values of %s begin anywhere", m->name);
    int size = m->size >= wide ? 8 : 4;
    CHECK(number(head + 28, 2) == (size == 8 ? 20 : 0), "%s: the local header", m->name);
    CHECK(number(tail, 4) == 0x08074b50 && number(tail + 4, 4) == m->crc, "%s: checksum", m->name);
    CHECK(number(tail + 8, size) == m->size && number(tail + 8 + size, size) == m->size,
          "%s: sizes behind it", m->name);
    end = begin + m->size + 8 + 2 * (uint64_t)size;
  }
  entry = file + end;
  for (int i = 0; i < z->n; i++) {
    const gr_npz_member *m = &z->members[i];
    bool far = m->size >= wide || m->offset >= wide;
    CHECK(number(entry, 4) == 0x02014b50, "the directory's entry of %s", m->name);
    CHECK(number(entry + 6, 2) == (far ? 45 : 20), "%s: version", m->name);
    CHECK(number(entry + 24, 4) == (far ? UINT32_MAX : m->size), "%s: its size", m->name);
    CHECK(number(entry + 42, 4) == (far ? UINT32_MAX : m->offset), "%s: its place", m->name);
    CHECK(number(entry + 30, 2) == (far ? 28 : 0), "%s: the numbers of 64 bits", m->name);
    entry += 46 + number(entry + 28, 2) + number(entry + 30, 2);
  }
}

// Members of 128 bytes and their values: some, or all but the first, count as large.
static void reads_back(void) {
  static const uint64_t wides[] = {UINT32_MAX, 150, 600};
  static const int64_t pieces[] = {64 << 20, 12, 1};
  save();
  for (int i = 0; i < 9; i++) {
    gr_chunks.zip32 = wides[i % 3], gr_chunks.exported = pieces[i / 3];
    export();
    gr_arena *arena = gr_arena_create();
    gr_npz z;
    MUST(gr_npz_open(arena, path, &z));
    CHECK(z.n == 6, "%d members", z.n);
    holds(&z, "a", 2, 6, a, 4), holds(&z, "v", 1, 3, v, 4), holds(&z, "d", 1, 1, d, 8);
    holds(&z, "h", 1, 5, widened, 4), holds(&z, "n", 0, 1, &n, 4), holds(&z, "u", 1, 7, bytes, 1);
    check_records(&z, gr_chunks.zip32);
    gr_npz_close(&z);
    gr_arena_destroy(arena);
  }
  gr_chunks.zip32 = UINT32_MAX, gr_chunks.exported = 64 << 20;
}

// Shapes are tuples as Python writes them.
static void shapes(void) {
  static const char *const heads[] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                                      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                                      "{'descr': '<i4', 'fortran_order': False, 'shape': (), }",
                                      "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }"};
  save();
  export();
  gr_arena *arena = gr_arena_create();
  char *text;
  size_t len;
  MUST(gr_file_read(arena, path, 1 << 20, &text, &len));
  for (int i = 0; i < 5; i++)
    CHECK(memmem(text, len, heads[i], strlen(heads[i])), "there is no %s", heads[i]);
  gr_arena_destroy(arena);
}

// 65535 members and more are counted in 64 bits: 16 that are set say so.
static void many_members(void) {
  for (int count = 65534; count <= 65536; count++) {
    gr_arena *arena = gr_arena_create();
    char *text = NULL;
    size_t len = 0;
    gr_exporter x = {.arena = arena, .file = open_memstream(&text, &len)};
    x.tensors = GR_NEW(arena, gr_tensor_slice, count),
    x.stored_name = GR_NEW(arena, const char *, count);
    for (; x.n < count; x.n++)
      x.tensors[x.n] = slice(gr_arena_printf(arena, "t%d", x.n), "f32", 1, 0, 0, NULL);
    MUST(gr_export_npz(&x));
    CHECK(x.file && !fclose(x.file) && len > 98, "a stream");
    const char *end = text + len - 22, *wide = end - 20 - 56;
    bool has = number(end - 20, 4) == 0x07064b50;
    CHECK(number(end, 4) == 0x06054b50 && has == (count >= 65535), "%d members", count);
    CHECK(number(end + 10, 2) == (has ? 65535 : (uint64_t)count), "%d members", count);
    if (has)
      CHECK(number(wide, 4) == 0x06064b50 && number(wide + 32, 8) == (uint64_t)count, "%d members",
            count);
    free(text);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  dir = scratch_dir("npz");
  snprintf(path, sizeof path, "%s/model.npz", dir);
  int failed = RUN(argc, argv, {"reads_back", reads_back}, {"shapes", shapes},
                   {"many_members", many_members});
  scratch_remove(dir);
  return failed;
}
