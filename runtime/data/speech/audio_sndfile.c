// audio_sndfile.c - reads recordings of any format with libsndfile. Module "sndfile".
#include <pthread.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
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

// ---- Bytes in memory, as libsndfile's virtual files ---------------------------------------------

typedef struct memory {
  const unsigned char *bytes;
  sf_count_t n, next;
} memory;

static sf_count_t memory_length(void *self) { return ((memory *)self)->n; }
static sf_count_t memory_tell(void *self) { return ((memory *)self)->next; }

static sf_count_t memory_seek(sf_count_t offset, int whence, void *self) {
  memory *m = self;
  sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m->next : m->n, next;
  if (__builtin_add_overflow(base, offset, &next) || next < 0 || next > m->n) return -1;
  return m->next = next;
}

static sf_count_t memory_read(void *out, sf_count_t n, void *self) {
  memory *m = self;
  if (n > m->n - m->next) n = m->n - m->next;
  if (n <= 0) return 0;
  memcpy(out, m->bytes + m->next, (size_t)n);
  m->next += n;
  return n;
}

static sf_count_t memory_write(const void *source, sf_count_t n, void *self) {
  return (void)source, (void)n, (void)self, 0;
}

static gr_status open_file(const gr_recording *r, memory *m, SNDFILE **f, SF_INFO *head) {
  SF_VIRTUAL_IO bytes = {memory_length, memory_seek, memory_read, memory_write, memory_tell};
  gr_status s = GR_OK;
  pthread_mutex_lock(&opening);
  *f = r->bytes ? sf_open_virtual(&bytes, SFM_READ, head, m) : sf_open(r->path, SFM_READ, head);
  if (!*f)
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not a recording that can be read: %s", r->path,
                sf_strerror(NULL));
  pthread_mutex_unlock(&opening);
  return s;
}

static gr_status read_file(const gr_recording *r, gr_audio_info *info, uint64_t most, float **out) {
  const char *path = r->path;
  memory m = {r->bytes, (sf_count_t)r->n, 0};
  SF_INFO head = {0};
  SNDFILE *f;
  GR_TRY(open_file(r, &m, &f, &head));
  gr_status s = read_open(f, &head, path, most, out);
  *info = (gr_audio_info){head.samplerate, head.channels, (uint64_t)head.frames};
  if (sf_close(f) && !s) s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot close recording '%s'", path);
  return s;
}

const gr_audio_file_module gr_module = {read_file};
