// audio.c - see audio.h.
#include "runtime/audio.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/audio_wav.h"
#ifdef GR_HAVE_SNDFILE
#include <pthread.h>
#include <sndfile.h>
#endif
#ifdef GR_HAVE_SOXR
#include <soxr.h>
#endif

static gr_status check_there(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot open recording '%s': %s", path, strerror(errno)),
        "audio_path is relative to the manifest's folder");
  int first = fgetc(f);
  bool bad = ferror(f);
  fclose(f);
  if (bad)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot read recording '%s': %s", path,
                   strerror(errno));
  if (first == EOF)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' is an empty file", path);
  return GR_OK;
}

#ifdef GR_HAVE_SNDFILE
static gr_status read_open(SNDFILE *f, const SF_INFO *head, const char *path, uint64_t most,
                           float **out) {
  if (head->frames <= 0 || head->frames > LLONG_MAX / 8192 || head->samplerate <= 0)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has no samples", path);
  if (!out) return GR_OK;
  if ((uint64_t)head->frames > most)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has %lld samples, more than %llu", path,
                   (long long)head->frames, (unsigned long long)most);
  size_t bytes = (size_t)head->frames * (size_t)head->channels * sizeof(float);
  float *x = malloc(bytes);
  if (!x)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for recording '%s' (%zu bytes)", path,
                   bytes);
  sf_count_t got = sf_readf_float(f, x, head->frames);
  if (got != head->frames) {
    free(x);
    return gr_fail(GR_ERR_DATA, GR_NOWHERE,
                   "recording '%s' is cut short: it says %lld samples and has %lld (%s)", path,
                   (long long)head->frames, (long long)got, sf_strerror(f));
  }
  *out = x;
  return GR_OK;
}

// libsndfile keeps the reason why an opening failed in one place for all threads.
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static gr_status open_other(const char *path, SNDFILE **f, SF_INFO *head) {
  gr_status s = GR_OK;
  pthread_mutex_lock(&opening);
  *f = sf_open(path, SFM_READ, head);
  if (!*f)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not a recording that can be read: %s", path,
                sf_strerror(NULL));
  pthread_mutex_unlock(&opening);
  return s;
}

static gr_status read_other(const char *path, gr_audio_info *info, uint64_t most, float **out) {
  SF_INFO head = {0};
  SNDFILE *f;
  GR_TRY(open_other(path, &f, &head));
  gr_status s = read_open(f, &head, path, most, out);
  *info = (gr_audio_info){head.samplerate, head.channels, (uint64_t)head.frames};
  if (sf_close(f) && !s) s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot close recording '%s'", path);
  return s;
}
#else
static gr_status read_other(const char *path, gr_audio_info *info, uint64_t most, float **out) {
  (void)info, (void)most, (void)out;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' is not a WAV recording with 16-bit samples, the one kind this build "
                         "reads",
                         path),
                 "build with libsndfile (libsndfile1-dev) to read others");
}
#endif

// The file as it is, channels side by side. out NULL: the head alone.
static gr_status read_any(const char *path, gr_audio_info *info, uint64_t most, float **out) {
  GR_TRY(check_there(path));
  gr_status s;
  if (gr_wav_read(path, info, most, out, &s)) return s;
  return read_other(path, info, most, out);
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
  uint64_t want = gr_audio_samples_at(info, rate);
  float *y = calloc(want ? want : 1, sizeof *y);
  size_t done = 0;
  soxr_error_t error = y ? NULL : "no memory";
  if (y)
    error = soxr_oneshot(info->rate, rate, 1, *x, (size_t)info->samples, NULL, y, (size_t)want,
                         &done, NULL, NULL, NULL);
  free(*x);
  *x = y, *n = want;
  if (!error && want) return GR_OK;
  free(y);
  *x = NULL;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot resample '%s' from %d to %d samples a second: %s",
                 path, info->rate, rate, error ? error : "it is too short");
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
  return read_any(path, out, UINT64_MAX, NULL);
}

gr_status gr_audio_read(const char *path, int rate, uint64_t most, float **out, uint64_t *samples) {
  gr_audio_info info = {0};
  *out = NULL;
  GR_TRY(read_any(path, &info, most, out));
  downmix(*out, info.samples, info.channels);
  *samples = info.samples;
  for (uint64_t i = 0; i < info.samples; i++)
    if (!isfinite((*out)[i])) {
      free(*out);
      *out = NULL;
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s': sample %llu is not a number", path,
                     (unsigned long long)i);
    }
  if (rate && rate != info.rate) return resample(path, &info, rate, out, samples);
  return GR_OK;
}
