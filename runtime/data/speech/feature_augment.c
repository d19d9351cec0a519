// feature_augment.c - SpecAugment; see feature.h.
#include <string.h>
#include "base/rng.h"
#include "runtime/data/speech/feature.h"

// Draw k of mask `mask` of an utterance; each has its own counter in the random stream.
static uint64_t draw_number(const gr_rng *r, uint64_t utterance, int mask, int k, uint64_t n) {
  uint64_t index = utterance * (4 * GR_AUGMENT_MASKS) + (uint64_t)(2 * mask + k);
  return gr_rng_below(r, index, n);
}

static void place_mask(const gr_rng *r, uint64_t utterance, int mask, int64_t most, int64_t room,
                       int64_t *start, int64_t *width) {
  if (most > room) most = room;
  *width = most > 0 ? (int64_t)draw_number(r, utterance, mask, 0, (uint64_t)most + 1) : 0;
  *start = (int64_t)draw_number(r, utterance, mask, 1, (uint64_t)(room - *width) + 1);
}

// Works in place: if frames move to later times, each depends on earlier ones, so the last is
// computed first.
static void move(float *frames, int64_t t, int mels, int64_t centre, int64_t to) {
  for (int64_t k = 1; k < t - 1; k++) {
    int64_t i = to > centre ? t - 1 - k : k;
    double source =
        i < to ? (double)(i * centre) / (double)to
               : (double)centre + (double)((i - to) * (t - 1 - centre)) / (double)(t - 1 - to);
    float part = (float)(source - (double)(int64_t)source);
    const float *x = frames + (int64_t)source * mels;
    for (int m = 0; m < mels; m++) frames[i * mels + m] = x[m] + part * (x[mels + m] - x[m]);
  }
}

static void warp(const gr_augment *a, uint64_t seed, uint64_t epoch, uint64_t utterance,
                 float *frames, int64_t t, int mels) {
  gr_rng r = gr_rng_make(seed, "time_warp", epoch);
  int64_t most = a->time_warp < (t - 3) / 2 ? a->time_warp : (t - 3) / 2;  // the ends are fixed
  if (most < 1) return;
  int64_t centre =
      most + 1 + (int64_t)gr_rng_below(&r, 2 * utterance, (uint64_t)(t - 2 - 2 * most));
  int64_t by = (int64_t)gr_rng_below(&r, 2 * utterance + 1, (uint64_t)(2 * most + 1)) - most;
  if (by) move(frames, t, mels, centre, centre + by);
}

void gr_augment_apply(const gr_augment *a, uint64_t seed, uint64_t epoch, uint64_t utterance,
                      float *frames, int64_t t, int mels) {
  warp(a, seed, epoch, utterance, frames, t, mels);
  gr_rng r = gr_rng_make(seed, "specaugment", epoch);
  int64_t start, width;
  for (int i = 0; i < a->freq_masks && i < GR_AUGMENT_MASKS; i++) {
    place_mask(&r, utterance, i, a->freq_width, mels, &start, &width);
    for (int64_t k = 0; k < t; k++)
      memset(frames + k * mels + start, 0, (size_t)width * sizeof *frames);
  }
  int64_t most = (int64_t)(a->time_share * (double)t);
  if (most > a->time_width) most = a->time_width;
  for (int i = 0; i < a->time_masks && i < GR_AUGMENT_MASKS; i++) {
    place_mask(&r, utterance, GR_AUGMENT_MASKS + i, most, t, &start, &width);
    memset(frames + start * mels, 0, (size_t)(width * mels) * sizeof *frames);
  }
}
