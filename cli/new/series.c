// series.c - generated recordings: a sensor of two channels on something that rests, swings or
// shakes, in noise.
#include <math.h>
#include "cli/new/new.h"

enum { RECORDINGS = 60, TEST_RECORDINGS = 12, MOMENTS = 128, KINDS = 3 };

static void put_recording(gr_text *t, const gr_rng *all, uint64_t number) {
  static const char *const kinds[KINDS] = {"rest", "swing", "shake"};
  static const double rate[KINDS] = {0, 0.06, 0.21}, size[KINDS] = {0, 1, 0.6};
  uint64_t kind = number % KINDS;
  gr_rng rng = *all;
  rng.step = number;
  double phase = 2 * M_PI * gr_rng_uniform(&rng, 0), tilt = gr_rng_normal(&rng, 2);
  double f = rate[kind] * (0.8 + 0.4 * gr_rng_uniform(&rng, 4));
  const char *split = number / KINDS % 5 == 4 ? "validation" : "train";
  for (uint64_t i = 0; i < MOMENTS; i++) {
    double angle = phase + 2 * M_PI * f * (double)i;
    double a = tilt + size[kind] * sin(angle) + 0.3 * gr_rng_normal(&rng, 8 + 4 * i);
    double b = size[kind] * cos(angle) + 0.3 * gr_rng_normal(&rng, 10 + 4 * i);
    gr_text_printf(t, "%.3f,%.3f,%s,%d,%s\n", a, b, kinds[kind], (int)number, split);
  }
}

gr_status gr_new_series(gr_arena *a, const char *dir) {
  static const gr_new_rows rows = {
      ".csv",        "motion",   "acc_x,acc_y,motion,recording,split\n",
      put_recording, RECORDINGS, TEST_RECORDINGS};
  return gr_new_write_rows(a, dir, &rows);
}
