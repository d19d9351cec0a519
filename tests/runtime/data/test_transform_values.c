// test_transform_values.c - crop, rotate, brightness and contrast: every value, by its definition.
#include <math.h>
#include "base/rng.h"
#include "tests/runtime/data/small_images.h"

// Value of pixel (h, w) of a sample, or the fill outside.
static int outside(uint32_t sample, int h, int w, int c, int fill) {
  return h < 0 || h >= H || w < 0 || w >= W ? fill : value_of(sample, pixel_index(h, w, c));
}

// Whether x of [height, width] is the part of the sample that begins at (top, left).
static bool is_part(const unsigned char *x, uint32_t sample, const int size[2], int top, int left,
                    int fill) {
  for (int h = 0; h < size[0]; h++)
    for (int w = 0; w < size[1]; w++)
      for (int c = 0; c < C; c++)
        if (x[(h * size[1] + w) * C + c] != outside(sample, top + h, left + w, c, fill))
          return false;
  return true;
}

// Which of the places a part of a training sample begins at; each must be seen.
static void check_parts(const char *list, const int size[2], int pad, int fill) {
  static epoch e[4];
  bool seen[2 * H + 1][2 * W + 1] = {{false}};
  int tops = H + 2 * pad - size[0] + 1, lefts = W + 2 * pad - size[1] + 1, n = 0;
  gr_dataset *d;
  MUST(open_list(list, &d));
  for (uint32_t k = 0; k < 4; k++) {
    read_epoch(d, GR_SPLIT_TRAIN, true, k, &e[k]);
    for (uint32_t s = 0; s < FIRST_VALIDATION; s++) {
      bool found = false;
      for (int t = 0; t < tops; t++)
        for (int l = 0; l < lefts && !found; l++)
          if (is_part(e[k].x[s], s, size, t - pad, l - pad, fill)) found = seen[t][l] = true;
      CHECK(found, "sample %u is no part", s);
    }
  }
  for (int t = 0; t < tops; t++)
    for (int l = 0; l < lefts; l++) n += seen[t][l];
  CHECK(n == tops * lefts, "%d of %d places", n, tops * lefts);
  gr_dataset_close(d);
}

static void crops(void) {
  static epoch v;
  gr_dataset *d;
  check_parts("[{crop: {pad: 1, fill: 7}}]", (int[]){H, W}, 1, 7);
  check_parts("[{crop: [2, 1]}]", (int[]){2, 1}, 0, 0);
  check_parts("[{crop: {size: [5, 2], pad: 1}}]", (int[]){5, 2}, 1, 0);
  MUST(open_list("[{crop: 2}]", &d));
  read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &v);
  CHECK(v.type.dim[1] == 2 && v.type.dim[2] == 2 && v.type.dim[3] == C, "the size of the part");
  for (uint32_t s = FIRST_VALIDATION; s < COUNT; s++)
    CHECK(is_part(v.x[s], s, (int[]){2, 2}, 1, 0, 0), "validation samples are cut in the middle");
  gr_dataset_close(d);
}

// The angle of sample s, and what it makes of a pixel: as defined, by four weighted pixels.
static double turned(uint32_t s, int h, int w, int c) {
  gr_rng r = gr_rng_make(3, "transform:0:rotate", 0);
  double angle = (2 * gr_rng_uniform(&r, (uint64_t)s << 32) - 1) * 40 * acos(-1.0) / 180, sum = 0;
  double x = w - (W - 1) / 2.0, y = h - (H - 1) / 2.0;
  double from_x = x * cos(angle) - y * sin(angle) + (W - 1) / 2.0;
  double from_y = x * sin(angle) + y * cos(angle) + (H - 1) / 2.0;
  for (int i = -8; i < 16; i++)
    for (int k = -8; k < 16; k++) {
      double near = fmax(0, 1 - fabs(i - from_y)) * fmax(0, 1 - fabs(k - from_x));
      sum += near * outside(s, i, k, c, 50);
    }
  return sum;
}

static void rotates(void) {
  static epoch e;
  gr_dataset *d;
  MUST(open_list("[{rotate: {degrees: 40, fill: 50}}]", &d));
  read_epoch(d, GR_SPLIT_TRAIN, true, 0, &e);
  for (uint32_t s = 0; s < FIRST_VALIDATION; s++)
    for (int i = 0; i < SIZE; i++) {
      double want = turned(s, i / C / W, i / C % W, i % C);
      CHECK(fabs(e.x[s][i] - want) < 0.501, "value %d of %u is %d, not %g", i, s, e.x[s][i], want);
    }
  read_epoch(d, GR_SPLIT_VALIDATION, false, 0, &e);
  CHECK(is_flipped(e.x[COUNT - 1], COUNT - 1, ' '), "validation samples are left as they are");
  gr_dataset_close(d);
}

// All values of a sample are multiplied by one number, about 0 or about their mean.
static void check_tone(const char *name, bool about_mean) {
  static epoch e;
  gr_dataset *d;
  char list[64], stream[64];
  snprintf(list, sizeof list, "[{flip: 0}, {%s: 0.5}]", name);
  snprintf(stream, sizeof stream, "transform:1:%s", name);
  MUST(open_list(list, &d));
  read_epoch(d, GR_SPLIT_TRAIN, true, 2, &e);
  gr_rng r = gr_rng_make(3, stream, 2);
  for (uint32_t s = 0; s < FIRST_VALIDATION; s++) {
    double factor = 0.5 + gr_rng_uniform(&r, (uint64_t)s << 32), mean = 0;
    for (int i = 0; i < SIZE; i++) mean += about_mean ? value_of(s, i) / (double)SIZE : 0;
    for (int i = 0; i < SIZE; i++) {
      double want = fmin(255, fmax(0, mean + factor * (value_of(s, i) - mean)));
      CHECK(fabs(e.x[s][i] - want) < 0.501, "value %d of %u is %d, not %g", i, s, e.x[s][i], want);
    }
  }
  gr_dataset_close(d);
}

static void tones(void) {
  check_tone("brightness", false);
  check_tone("contrast", true);
}

int main(int argc, char **argv) {
  int failed = RUN(argc, argv, {"crops", crops}, {"rotates", rotates}, {"tones", tones});
  close_lists();
  return failed;
}
