// feature_augment.c - SpecAugment; see feature.h.
#include <string.h>
#include "base/rng.h"
#include "runtime/feature.h"

// Draw number k of mask `mask` of utterance: each has its own place in the stream.
static uint64_t draw(const gr_rng *r, uint64_t utterance, int mask, int k, uint64_t n) {
  uint64_t at = utterance * (4 * GR_AUGMENT_MASKS) + (uint64_t)(2 * mask + k);
  return gr_rng_below(r, at, n);
}

static void place(const gr_rng *r, uint64_t utterance, int mask, int64_t most, int64_t room,
                  int64_t *from, int64_t *width) {
  if (most > room) most = room;
  *width = most > 0 ? (int64_t)draw(r, utterance, mask, 0, (uint64_t)most + 1) : 0;
  *from = (int64_t)draw(r, utterance, mask, 1, (uint64_t)(room - *width) + 1);
}

void gr_augment_apply(const gr_augment *a, uint64_t seed, uint64_t epoch, uint64_t utterance,
                      float *frames, int64_t t, int mels) {
  gr_rng r = gr_rng_make(seed, "specaugment", epoch);
  int64_t from, width;
  for (int i = 0; i < a->freq_masks && i < GR_AUGMENT_MASKS; i++) {
    place(&r, utterance, i, a->freq_width, mels, &from, &width);
    for (int64_t k = 0; k < t; k++)
      memset(frames + k * mels + from, 0, (size_t)width * sizeof *frames);
  }
  int64_t most = (int64_t)(a->time_share * (double)t);
  if (most > a->time_width) most = a->time_width;
  for (int i = 0; i < a->time_masks && i < GR_AUGMENT_MASKS; i++) {
    place(&r, utterance, GR_AUGMENT_MASKS + i, most, t, &from, &width);
    memset(frames + from * mels, 0, (size_t)(width * mels) * sizeof *frames);
  }
}
