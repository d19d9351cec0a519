// audio_sndfile.c - reads recordings of any format with libsndfile. Module "sndfile".
#include <pthread.h>
#include <sndfile.h>
#include <stdlib.h>
#include "runtime/data/speech/audio_module.h"

// Memory grows with what is decoded, up to the declared frames: a head may declare anything.
static sf_count_t read_frames(SNDFILE *f, const SF_INFO *head, float **out) {
  sf_count_t got = 0, room = 1 << 16, more = 1;
  for (; more > 0 && got < head->frames; room *= 2) {
    if (room > head->frames) room = head->frames;
    float *x = realloc(*out, (size_t)room * (size_t)head->channels * sizeof *x);
    if (!x) return -1;
    *out = x;
    more = sf_readf_float(f, x + got * head->channels, room - got);
    got += more > 0 ? more : 0;
  }
  return got;
}

static gr_status read_open(SNDFILE *f, const SF_INFO *head, const char *path, uint64_t most,
                           float **out) {
  gr_audio_info info = {head->samplerate, head->channels, (uint64_t)head->frames};
  if (head->frames <= 0)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has no samples", path);
  GR_TRY(gr_audio_check(path, &info));
  if (!out) return GR_OK;
  if ((uint64_t)head->frames > most)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has %lld samples, more than %llu", path,
                   (long long)head->frames, (unsigned long long)most);
  float *x = NULL;
  sf_count_t got = read_frames(f, head, &x);
  if (got != head->frames) {
    free(x);
    if (got < 0)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the %lld samples of recording '%s'",
                     (long long)head->frames, path);
    return gr_fail(GR_ERR_DATA, GR_NOWHERE,
                   "recording '%s' is cut short: it declares %lld samples and has %lld (%s)", path,
                   (long long)head->frames, (long long)got, sf_strerror(f));
  }
  *out = x;
  return GR_OK;
}

// libsndfile stores the reason why opening a file failed in one variable for all threads.
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static gr_status open_file(const char *path, SNDFILE **f, SF_INFO *head) {
  gr_status s = GR_OK;
  pthread_mutex_lock(&opening);
  *f = sf_open(path, SFM_READ, head);
  if (!*f)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not a recording that can be read: %s", path,
                sf_strerror(NULL));
  pthread_mutex_unlock(&opening);
  return s;
}

static gr_status read_file(const char *path, gr_audio_info *info, uint64_t most, float **out) {
  SF_INFO head = {0};
  SNDFILE *f;
  GR_TRY(open_file(path, &f, &head));
  gr_status s = read_open(f, &head, path, most, out);
  *info = (gr_audio_info){head.samplerate, head.channels, (uint64_t)head.frames};
  if (sf_close(f) && !s) s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot close recording '%s'", path);
  return s;
}

const gr_audio_file_module gr_module = {read_file};
