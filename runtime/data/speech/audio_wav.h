// audio_wav.h - RIFF/WAVE with 16-bit PCM, read by ourselves: the common case, in a build
// without libsndfile too, and a file that is cut short is told from one that is short.
#pragma once
#include "runtime/data/speech/audio.h"

// Reads a file that is open at its first byte; `path` is for messages. True when it was such a WAV
// (or a damaged one: *status says). *out is NULL to read the head alone; else malloc'd,
// [samples][channels].
bool gr_wav_read(FILE *, const char *path, gr_audio_info *info, uint64_t most, float **out,
                 gr_status *status);
