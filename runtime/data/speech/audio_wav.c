// audio_wav.c - see audio_wav.h. (Multimedia Programming Interface 1.0, IBM and Microsoft 1991.)
#include "runtime/data/speech/audio_wav.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/speech/audio_module.h"

enum { PCM = 1, EXTENSIBLE = 0xfffe, UNTIL_END = -1 };

typedef struct wav {
  FILE *file;
  const char *path;
  int format, channels, rate, bits;
  int64_t data, left;  // bytes that the data chunk declares, and bytes that the file has
} wav;

static uint32_t u32(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static int u16(const unsigned char *p) { return p[0] | p[1] << 8; }

static gr_status cut_short(const wav *w, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' is cut short: %s", w->path, what),
                 "copy or record it again");
}

static gr_status read_format(wav *w, uint32_t size) {
  unsigned char f[40] = {0};
  size_t want = size < sizeof f ? size : sizeof f;
  if (size < 16 || fread(f, 1, want, w->file) != want) return cut_short(w, "its format is missing");
  w->format = u16(f), w->channels = u16(f + 2), w->rate = (int)(u32(f + 4) & 0x7fffffff);
  w->bits = u16(f + 14);
  if (w->format == EXTENSIBLE && size >= 26) w->format = u16(f + 24);
  long rest = (long)(size - want + (size & 1));
  return fseek(w->file, rest, SEEK_CUR) ? cut_short(w, strerror(errno)) : GR_OK;
}

// Whether a writer that could not know the size of its data wrote it: all ones, 0, or as SoX does,
// less than 2^31 by up to 4096.
static bool is_unknown(uint32_t size, int64_t left) {
  bool most = size >= 0x7ffff000 && size <= INT32_MAX;
  return size == UINT32_MAX || (!size && left > 0) || (most && size > left);
}

// Walks the chunks up to the data chunk.
static gr_status find_data(wav *w) {
  long here = ftell(w->file), size_of_file;
  if (here < 0 || fseek(w->file, 0, SEEK_END) || (size_of_file = ftell(w->file)) < 0 ||
      fseek(w->file, here, SEEK_SET))
    return cut_short(w, strerror(errno));
  unsigned char head[8];
  while (fread(head, 1, sizeof head, w->file) == sizeof head) {
    uint32_t size = u32(head + 4);
    if (!memcmp(head, "data", 4)) {
      w->left = (int64_t)size_of_file - (int64_t)ftell(w->file);
      w->data = is_unknown(size, w->left) ? UNTIL_END : (int64_t)size;
      return GR_OK;
    }
    if (!memcmp(head, "fmt ", 4))
      GR_TRY(read_format(w, size));
    else if (fseek(w->file, (long)size + (long)(size & 1), SEEK_CUR))
      break;
  }
  return cut_short(w, "it has no data chunk");
}

static gr_status check_format(const wav *w, gr_audio_info *info) {
  int frame = 2 * w->channels;
  int64_t bytes = w->data == UNTIL_END ? w->left : w->data;
  if (bytes > w->left)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "recording '%s' is cut short: it declares %lld bytes of samples and has "
                           "%lld",
                           w->path, (long long)bytes, (long long)w->left),
                   "copy or record it again");
  *info = (gr_audio_info){w->rate, w->channels, (uint64_t)(bytes / frame)};
  if (!info->samples)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has no samples", w->path);
  return gr_audio_check(w->path, info);
}

static gr_status read_samples(const wav *w, const gr_audio_info *info, uint64_t most, float **out) {
  if (info->samples > most)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "recording '%s' has %llu samples, more than %llu",
                   w->path, (unsigned long long)info->samples, (unsigned long long)most);
  size_t n = (size_t)info->samples * (size_t)info->channels;
  float *x = malloc(n * sizeof *x);
  if (!x)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for recording '%s' (%zu bytes)", w->path,
                   n * sizeof *x);
  unsigned char buf[8192];
  for (size_t done = 0; done < n;) {
    size_t want = n - done < sizeof buf / 2 ? n - done : sizeof buf / 2;
    if (fread(buf, 2, want, w->file) != want) {
      free(x);
      return cut_short(w, "reading ended early");
    }
    for (size_t i = 0; i < want; i++)
      x[done++] = (float)(int16_t)(uint16_t)u16(buf + 2 * i) * (1.0F / 32768);
  }
  *out = x;
  return GR_OK;
}

bool gr_wav_read(FILE *file, const char *path, gr_audio_info *info, uint64_t most, float **out,
                 gr_status *status) {
  wav w = {.file = file, .path = path};
  *status = GR_OK;
  unsigned char riff[12];
  bool ours = fread(riff, 1, sizeof riff, w.file) == sizeof riff && !memcmp(riff, "RIFF", 4) &&
              !memcmp(riff + 8, "WAVE", 4);
  if (ours) {
    *status = find_data(&w);
    ours = *status || (w.format == PCM && w.bits == 16 && w.channels);
    if (ours && !*status) *status = check_format(&w, info);
    if (ours && !*status && out) *status = read_samples(&w, info, most, out);
  }
  return ours;
}
