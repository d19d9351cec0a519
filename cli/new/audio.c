// audio.c - generated recordings: sounds that rise, fall, pulse or stay, of any pitch and length.
#include <math.h>
#include "base/output.h"
#include "cli/new/new.h"

enum { KINDS = 4, COUNT = 40, TEST_COUNT = 10, LEAST = 4000, MOST = 8000 };  // samples

static const char *const kinds[KINDS] = {"rise", "fall", "pulse", "hum"};

// The pitch rises or falls by two octaves, or stays; pulses are heard half of the time.
static void put_sound(gr_text *t, const gr_rng *rng, int kind, uint32_t samples) {
  const double pi = 3.14159265358979323846;
  double low = 250 + 250 * gr_rng_uniform(rng, 1), loud = 1500 + 6000 * gr_rng_uniform(rng, 2);
  double beats = 5 + 5 * gr_rng_uniform(rng, 3), phase = 0;
  for (uint32_t i = 0; i < samples; i++) {
    double part = (double)i / samples, seconds = (double)i / GR_NEW_RATE;
    double pitch = kind == 0   ? low * exp2(2 * part)
                   : kind == 1 ? low * exp2(2 - 2 * part)
                               : 2 * low;
    bool heard = kind != 2 || fmod(seconds * beats, 1) < 0.5;
    phase += 2 * pi * pitch / GR_NEW_RATE;
    double noise = 1000 * (gr_rng_uniform(rng, 100 + i) - 0.5);
    gr_new_put_sample(t, (heard ? loud * (sin(phase) + 0.4 * sin(2 * phase)) : 0) + noise);
  }
}

static gr_status write_sound(gr_arena *a, const char *dir, int kind, uint32_t number) {
  gr_rng rng = gr_rng_make(number * KINDS + (uint32_t)kind, "sound", 0);
  uint32_t samples = LEAST + (uint32_t)gr_rng_below(&rng, 0, MOST - LEAST);
  gr_text t = gr_text_make(a);
  gr_new_put_wav(&t, samples);
  put_sound(&t, &rng, kind, samples);
  return gr_output_write(dir, gr_arena_printf(a, "%02u.wav", number), t.chars, t.len);
}

// A folder for each kind, with n recordings.
static gr_status write_sounds(gr_arena *a, const char *dir, uint32_t first, uint32_t n) {
  for (int kind = 0; kind < KINDS; kind++) {
    const char *folder = gr_arena_printf(a, "%s/%s", dir, kinds[kind]);
    GR_TRY(gr_make_dirs(folder));
    for (uint32_t i = first; i < first + n; i++) {
      gr_arena *scratch = gr_arena_create();
      gr_status s = write_sound(scratch, folder, kind, i);
      GR_TRY(gr_arena_end(scratch, s));
    }
  }
  return GR_OK;
}

gr_status gr_new_audio(gr_arena *a, const char *dir) {
  GR_TRY(write_sounds(a, gr_arena_printf(a, "%s/sounds", dir), 0, COUNT));
  return write_sounds(a, gr_arena_printf(a, "%s/test", dir), COUNT, TEST_COUNT);
}
