// test_safetensors.c - files of safetensors: every dtype and slice of it, and files that are none.
#include <math.h>
#include <string.h>
#include "runtime/checkpoint/safetensors.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *dir;

// A file of that header and data.
static const char *write_file(const char *header, const void *data, size_t bytes) {
  static char path[512];
  snprintf(path, sizeof path, "%s/x.safetensors", dir);
  FILE *f = fopen(path, "wb");
  CHECK(f, "cannot write %s", path);
  if (!f) check_leave();
  uint64_t len = strlen(header);
  for (int i = 0; i < 8; i++) fputc((int)(len >> (8 * i) & 255), f);
  fwrite(header, 1, len, f);
  if (bytes) fwrite(data, 1, bytes, f);
  fclose(f);
  return path;
}

// Exact in each dtype, or what it rounds to.
static void dtypes(void) {
  static const double wide[] = {1.0 / 3, -2, INFINITY};
  static const float single[] = {0.1f, -1e-40f, 3e38f};
  static const uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x8400,
                                  0x0000, 0x8000, 0xfc00, 0x7e00};
  static const float halves[] = {1, -2, 65504, 0x1p-24f, -0x1p-14f, 0, -0.0f, -INFINITY};
  static const uint16_t brain[] = {0x3f80, 0xc049, 0x0001};
  char data[24 + 12 + 18 + 6];
  memcpy(data, wide, 24), memcpy(data + 24, single, 12);
  memcpy(data + 36, half, 18), memcpy(data + 54, brain, 6);
  const char *path = write_file(
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"wide\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,24]},"
      "\"single\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[24,36]},"
      "\"half\":{\"dtype\":\"F16\",\"shape\":[9],\"data_offsets\":[36,54]},"
      "\"brain\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[54,60]},"
      "\"eight\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[58,60]}}",
      data, sizeof data);
  gr_safetensors *s;
  int n;
  float got[9];
  MUST(gr_safetensors_open(path, &s));
  const gr_tensor_slice *t = gr_safetensors_tensors(s, &n);
  CHECK(n == 5 && !strcmp(t[2].name, "half") && t[1].rank == 2 && t[1].dims[0] == 3, "%d", n);
  CHECK(gr_safetensors_is_float(&t[3]) && !gr_safetensors_is_float(&t[4]), "floats");
  for (int i = 0; i < 4; i++) {
    gr_tensor_slice want = t[i];
    want.data = got, want.dtype = "f32";
    MUST(gr_safetensors_read(s, i, &want));
    if (i == 0) CHECK(got[0] == 1.0f / 3 && got[1] == -2 && isinf(got[2]), "f64");
    if (i == 1) CHECK(!memcmp(got, single, sizeof single), "f32");
    if (i == 2)
      CHECK(!memcmp(got, halves, sizeof halves) && isnan(got[8]), "f16: %g", (double)got[3]);
    if (i == 3) CHECK(got[0] == 1 && got[1] == -3.140625f && got[2] == 0x1p-133f, "bf16");
  }
  gr_tensor_slice same = t[2];
  same.data = got;
  MUST(gr_safetensors_read(s, 2, &same));
  CHECK(!memcmp(got, half, sizeof half), "a dtype stays");
  gr_safetensors_close(s);
}

// Every slice of [3, 4, 5], whose numbers are their places, also one longer than a chunk.
static void slices(void) {
  float data[60], got[60];
  for (int i = 0; i < 60; i++) data[i] = (float)i;
  gr_safetensors *s;
  int n, bad = 0;
  MUST(gr_safetensors_open(write_file("{\"a\":{\"dtype\":\"F32\",\"shape\":[3,4,5],"
                                      "\"data_offsets\":[0,240]}}",
                                      data, sizeof data),
                           &s));
  gr_tensor_slice want = *gr_safetensors_tensors(s, &n);
  want.data = got;
  for (int k = 0; k < 6 * 10 * 15; k++) {
    static const int64_t cuts[15][2] = {{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2},
                                        {0, 3}, {3, 1}, {2, 2}, {1, 3}, {0, 4},
                                        {4, 1}, {3, 2}, {2, 3}, {1, 4}, {0, 5}};
    const int64_t *c[3] = {cuts[k % 6], cuts[k / 6 % 10], cuts[k / 60]};
    for (int d = 0; d < 3; d++) want.offset[d] = c[d][0], want.size[d] = c[d][1];
    MUST(gr_safetensors_read(s, 0, &want));
    const float *next = got;
    for (int64_t x = c[0][0]; x < c[0][0] + c[0][1]; x++)
      for (int64_t y = c[1][0]; y < c[1][0] + c[1][1]; y++)
        for (int64_t z = c[2][0]; z < c[2][0] + c[2][1]; z++)
          bad += *next++ != data[(x * 4 + y) * 5 + z];
  }
  CHECK(!bad, "%d numbers are others", bad);
  gr_safetensors_close(s);
}

static void large(void) {
  enum { N = 70000 };
  static float data[N], got[N];
  for (int i = 0; i < N; i++) data[i] = (float)(i * 7 % 1001);
  gr_safetensors *s;
  int n;
  MUST(gr_safetensors_open(
      write_file("{\"a\":{\"dtype\":\"F32\",\"shape\":[70000],\"data_offsets\":[0,280000]}}", data,
                 sizeof data),
      &s));
  gr_tensor_slice want = *gr_safetensors_tensors(s, &n);
  want.data = got, want.offset[0] = 5, want.size[0] = N - 5;
  MUST(gr_safetensors_read(s, 0, &want));
  CHECK(!memcmp(got, data + 5, sizeof *data * (N - 5)), "more than a chunk");
  gr_safetensors_close(s);
}

static void refuses(const char *header, size_t bytes, const char *why) {
  static const char data[64];
  gr_safetensors *s;
  gr_status e = gr_safetensors_open(write_file(header, data, bytes), &s);
  CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT && strstr(gr_status_text(e), why),
        "%s: '%s', not '%s'", header, gr_status_text(e), why);
  gr_status_drop(e);
}

static void damage(void) {
#define A "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":"
  refuses(A "[0,16]}}", 15, "offsets are outside");
  refuses(A "[0,12]}}", 64, "offsets are outside");
  refuses(A "[16,0]}}", 64, "offsets are outside");
  refuses(A "[-4,12]}}", 64, "its header");
  refuses(A "[0,9223372036854775807]}}", 64, "offsets are outside");
  refuses(
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4511627776,1089511627776],\"data_offsets\":[0,0]}}",
      64,
      "offsets are outside");  // no elements, and strides that overflow
  refuses(A "[0]}}", 64, "its header");
  refuses(A "[0,16]}", 64, "expected");
  refuses("[]", 64, "not a JSON object");
  refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 64,
          "its header");
  refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
          64, "offsets are outside");
#undef A
  char path[512];
  gr_safetensors *s;
  const char *whole = write_file("{}", NULL, 0);
  snprintf(path, sizeof path, "%s", whole);
  for (int n = 0; n < 10; n++) {
    CHECK(!truncate(path, 9 - n < 0 ? 0 : 9 - n), "cannot cut");
    gr_status e = gr_safetensors_open(path, &s);
    CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT, "%d bytes open", 9 - n);
    gr_status_drop(e);
  }
  gr_status e = gr_safetensors_open("/nowhere/x.safetensors", &s);
  CHECK(gr_status_code(e) == GR_ERR_CHECKPOINT && strstr(gr_status_text(e), "No such file"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
}

int main(int argc, char **argv) {
  dir = scratch_dir("safetensors");
  int failed =
      RUN(argc, argv, {"dtypes", dtypes}, {"slices", slices}, {"large", large}, {"damage", damage});
  scratch_remove(dir);
  return failed;
}
