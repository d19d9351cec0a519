// audio_module.h - what audio_read.c has large libraries for: the tables of modules
// (base/module.h).
#pragma once
#include "runtime/data/speech/audio.h"

// A recording: the file `path`, or `n` bytes that are called so.
typedef struct gr_recording {
  const char *path;
  const unsigned char *bytes;  // NULL: a file
  size_t n;
} gr_recording;

// Whether a head is within the limits of audio.h.
GR_MUST_USE gr_status gr_audio_check(const char *path, const gr_audio_info *);

// "sndfile" (audio_sndfile.c): recordings of any kind. As gr_audio_read, but channels side by side
// and at the file's rate; out NULL: the head alone.
typedef struct gr_audio_file_module {
  gr_status (*read)(const gr_recording *, gr_audio_info *, uint64_t most, float **out);
} gr_audio_file_module;

// "soxr" (audio_soxr.c): n samples at one rate to `want` at another. NULL, or what went wrong.
typedef struct gr_audio_rate_module {
  const char *(*convert)(int rate_in, int rate_out, const float *x, uint64_t n, float *y,
                         uint64_t want);
} gr_audio_rate_module;
