// audio.h - recordings to samples: any file libsndfile knows, or WAV with 16-bit samples
// without it; mono, floats in [-1, 1], at the rate asked for (soxr where the rates differ).
#pragma once
#include "base/arena.h"

typedef struct gr_audio_info {
  int rate, channels;
  uint64_t samples;  // per channel, at the file's rate
} gr_audio_info;

enum { GR_AUDIO_MIN_RATE = 1000, GR_AUDIO_MAX_RATE = 1000000 };
#define GR_AUDIO_MAX_VALUES (UINT64_C(1) << 31)  // of all channels

// Reads the head of a recording alone. Fails with GR_ERR_DATA naming the path: missing, no regular
// file, not audio, no samples, cut short, a rate or a size beyond those above.
GR_MUST_USE gr_status gr_audio_probe(const char *path, gr_audio_info *out);

// The same of a recording in memory, that messages call `name`.
GR_MUST_USE gr_status gr_audio_probe_bytes(const char *name, const unsigned char *, size_t bytes,
                                           gr_audio_info *out);

// Reads a whole recording. *out is malloc'd: the caller frees it. Channels are averaged.
// `rate` 0 keeps the file's. Fails as above, and where there are more than `most` samples.
GR_MUST_USE gr_status gr_audio_read(const char *path, int rate, uint64_t most, float **out,
                                    uint64_t *out_samples);

// The same of a recording in memory, that messages call `name`.
GR_MUST_USE gr_status gr_audio_read_bytes(const char *name, const unsigned char *, size_t bytes,
                                          int rate, uint64_t most, float **out,
                                          uint64_t *out_samples);

// How many samples a recording has after resampling.
uint64_t gr_audio_samples_at(const gr_audio_info *, int rate);
