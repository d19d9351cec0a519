// fuzz_arrays.c - any bytes are a table (CSV), NumPy's array or archive, IDX, or an error; and
// every value of what is read can be taken.
#include "fuzz_file.h"
#include "runtime/data/csv.h"
#include "runtime/data/npy.h"
#include "runtime/data/table/idx.h"
#include "runtime/data/table/npz.h"

// Deflate packs a byte 1032 times, and big-endian values are copied.
const fuzz_budget fuzz_memory = {4 << 20, 4000};

static void take_values(gr_arena *a, const gr_array *x) {
  for (int64_t i = 0; i < x->count && i < 10000; i++) {
    int64_t whole;
    (void)gr_array_text(a, x, i);
    if (gr_array_is_text(x)) continue;
    (void)gr_array_number(x, i);
    (void)gr_array_integer(x, i, &whole);
  }
}

static gr_status read_csv(gr_arena *a, const char *path) {
  gr_csv t;
  GR_TRY(gr_csv_read(a, path, &gr_csv_fixed, &t));
  for (int c = 0; c < t.n_columns && c < 100; c++) {
    gr_array x = gr_csv_array(&t, c);
    take_values(a, &x);
  }
  return GR_OK;
}

static gr_status read_npz(gr_arena *a, const char *path) {
  gr_npz z;
  GR_TRY(gr_npz_open(a, path, &z));
  for (int i = 0; i < z.n && i < 100; i++) {
    gr_array x;
    gr_status s = gr_npz_read(&z, z.members[i].name, &x);
    if (!s) take_values(a, &x);
    fuzz_print(s);
  }
  gr_npz_close(&z);
  return GR_OK;
}

static gr_status read_array(gr_arena *a, bool npy, const uint8_t *data, size_t size) {
  gr_array x;
  GR_TRY((npy ? gr_npy_parse : gr_idx_parse)(a, "input", "x", data, size, &x));
  take_values(a, &x);
  return GR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  fuzz_file f = fuzz_file_make(data, size);
  bool npy = size > 5 && !memcmp(data, "\x93NUMPY", 6), npz = size > 1 && !memcmp(data, "PK", 2);
  bool idx = size > 2 && (!memcmp(data, "\x1f\x8b", 2) || !memcmp(data, "\0\0", 2));
  fuzz_print(npy || idx ? read_array(a, npy, data, size)
             : npz      ? read_npz(a, f.path)
                        : read_csv(a, f.path));
  fuzz_file_close(&f);
  gr_arena_destroy(a);
  return 0;
}
