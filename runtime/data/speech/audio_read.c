// audio_read.c - see audio.h.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/module.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/audio_module.h"
#include "runtime/data/speech/audio_wav.h"

static gr_status open_bytes(const gr_recording *r, FILE **out) {
  if (!r->n) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has no bytes", r->path);
  // It is only read: the cast is safe.
  *out = fmemopen((void *)(uintptr_t)r->bytes, r->n, "rb");
  if (*out) return GR_OK;
  return gr_fail_errno(GR_ERR_DATA, errno, "cannot read recording '%s'", r->path);
}

// Opens a recording at its first byte; it is a regular file, whichever library reads it next.
static gr_status open_recording(const gr_recording *r, FILE **out) {
  const char *path = r->path;
  if (r->bytes) return open_bytes(r, out);
  gr_status s = gr_file_stream(path, GR_ERR_DATA, out);
  if (s)
    return gr_file_kind(path)
               ? s
               : gr_hint(s, "paths of a list are relative to its folder, or to data.speech.root");
  int first = fgetc(*out), bad = ferror(*out) ? errno : 0;
  if (bad)
    s = gr_fail_errno(GR_ERR_DATA, bad, "cannot read recording '%s'", path);
  else if (first == EOF)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' is an empty file", path);
  if (s)
    fclose(*out);
  else
    rewind(*out);
  return s;
}

#ifdef GR_HAVE_SNDFILE
static gr_status read_other(const gr_recording *r, gr_audio_info *info, uint64_t most,
                            float **out) {
  const gr_audio_file_module *sndfile;
  GR_TRY(gr_module_open("sndfile", &sndfile));
  return sndfile->read(r, info, most, out);
}
#else
static gr_status read_other(const gr_recording *r, gr_audio_info *info, uint64_t most,
                            float **out) {
  (void)info, (void)most, (void)out;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' is not a WAV recording with 16-bit samples, the one kind this build "
                         "reads",
                         r->path),
                 "build with libsndfile (libsndfile1-dev) to read others");
}
#endif

// Reads the file without conversion, channels interleaved. out NULL: reads only the header.
static gr_status read_any(const gr_recording *r, gr_audio_info *info, uint64_t most, float **out) {
  FILE *f;
  gr_status s;
  GR_TRY(open_recording(r, &f));
  bool ours = gr_wav_read(f, r->path, info, most, out, &s);
  fclose(f);
  return ours ? s : read_other(r, info, most, out);
}

static void downmix(float *x, uint64_t samples, int channels) {
  if (channels == 1) return;
  for (uint64_t i = 0; i < samples; i++) {
    float sum = 0;
    for (int c = 0; c < channels; c++) sum += x[i * (uint64_t)channels + (uint64_t)c];
    x[i] = sum / (float)channels;
  }
}

#ifdef GR_HAVE_SOXR
static gr_status resample(const char *path, const gr_audio_info *info, int rate, float **x,
                          uint64_t *n) {
  const gr_audio_rate_module *soxr;
  uint64_t want = gr_audio_samples_at(info, rate);
  float *source = *x, *target = calloc(want + 1, sizeof *target);
  gr_status s = gr_module_open("soxr", &soxr);
  const char *error = s         ? NULL
                      : !target ? "no memory"
                      : !want
                          ? "it is too short"
                          : soxr->convert(info->rate, rate, source, info->samples, target, want);
  if (error)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot resample '%s' from %d to %d samples a second: %s",
                path, info->rate, rate, error);
  free(source);
  if (s) free(target);
  *x = s ? NULL : target, *n = want;
  return s;
}
#else
static gr_status resample(const char *path, const gr_audio_info *info, int rate, float **x,
                          uint64_t *n) {
  free(*x);
  *x = NULL, *n = 0;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has %d samples a second, not the %d asked for", path,
              info->rate, rate),
      "ask for %d, or build with soxr (libsoxr-dev)", info->rate);
}
#endif

uint64_t gr_audio_samples_at(const gr_audio_info *info, int rate) {
  if (!rate || rate == info->rate) return info->samples;
  return (uint64_t)llround((double)info->samples * rate / info->rate);
}

gr_status gr_audio_probe(const char *path, gr_audio_info *out) {
  return read_any(&(gr_recording){.path = path}, out, UINT64_MAX, NULL);
}

// An empty one has an address, too: without, it would be a file.
static gr_recording of_bytes(const char *name, const unsigned char *bytes, size_t n) {
  static const unsigned char nothing[1];
  return (gr_recording){name, n ? bytes : nothing, n};
}

gr_status gr_audio_probe_bytes(const char *name, const unsigned char *bytes, size_t n,
                               gr_audio_info *out) {
  gr_recording r = of_bytes(name, bytes, n);
  return read_any(&r, out, UINT64_MAX, NULL);
}

// Frees the samples if one of them is not a number.
static gr_status check_finite(const char *path, const char *when, float **x, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (!isfinite((*x)[i])) {
      free(*x);
      *x = NULL;
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s': sample %llu is not a number%s", path,
                     (unsigned long long)i, when);
    }
  return GR_OK;
}

static gr_status read_at_rate(const gr_recording *r, int rate, uint64_t most, float **out,
                              uint64_t *samples) {
  const char *path = r->path;
  gr_audio_info info = {0};
  *out = NULL;
  GR_TRY(read_any(r, &info, most, out));
  downmix(*out, info.samples, info.channels);
  *samples = info.samples;
  GR_TRY(check_finite(path, "", out, info.samples));
  if (!rate || rate == info.rate) return GR_OK;
  GR_TRY(resample(path, &info, rate, out, samples));
  return check_finite(path, " at another rate: its samples are too large", out, *samples);
}

gr_status gr_audio_read(const char *path, int rate, uint64_t most, float **out, uint64_t *samples) {
  return read_at_rate(&(gr_recording){.path = path}, rate, most, out, samples);
}

gr_status gr_audio_read_bytes(const char *name, const unsigned char *bytes, size_t n, int rate,
                              uint64_t most, float **out, uint64_t *samples) {
  gr_recording r = of_bytes(name, bytes, n);
  return read_at_rate(&r, rate, most, out, samples);
}
