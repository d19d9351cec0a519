// audio_soxr.c - resamples recordings with soxr. Module "soxr".
#include <soxr.h>
#include "runtime/data/speech/audio_module.h"

static const char *convert(int rate_in, int rate_out, const float *x, uint64_t n, float *y,
                           uint64_t want) {
  size_t done = 0;
  return soxr_oneshot(rate_in, rate_out, 1, x, (size_t)n, NULL, y, (size_t)want, &done, NULL, NULL,
                      NULL);
}

const gr_audio_rate_module gr_module = {convert};
