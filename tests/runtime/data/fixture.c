// fixture.c - see fixture.h.
#define _GNU_SOURCE
#include "tests/runtime/data/fixture.h"
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];
static gr_arena *arena;

static int take_away(const char *path, const struct stat *st, int kind, struct FTW *walk) {
  (void)st, (void)kind, (void)walk;
  return remove(path);
}
static void clean(void) {
  nftw(folder, take_away, 8, FTW_DEPTH | FTW_PHYS);
  gr_arena_destroy(arena);
}

static void open_folder(void) {
  if (arena) return;
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/graphrun-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) perror(folder), exit(1);
  arena = gr_arena_create();
  atexit(clean);
}

const char *fixture_path(const char *fmt, ...) {
  char name[128];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(name, sizeof name, fmt, ap);
  va_end(ap);
  open_folder();
  return gr_arena_printf(arena, "%s/%s", folder, name);
}

void fixture_bytes(const char *path, const void *bytes, size_t n) {
  remove(path);  // some file systems write a file to the disk where it is cut to no bytes
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) perror(path), exit(1);
}
void fixture_text(const char *path, const char *text) { fixture_bytes(path, text, strlen(text)); }

static unsigned char *le(unsigned char *p, unsigned v, int bytes) {
  for (int i = 0; i < bytes; i++) *p++ = (unsigned char)(v >> 8 * i);
  return p;
}

void fixture_wav(const char *path, int rate, int channels, int samples, unsigned seed) {
  unsigned data = (unsigned)(2 * channels * samples);
  unsigned char *all = malloc(44 + data), *p = all;
  memcpy(p, "RIFF", 4), p = le(p + 4, 36 + data, 4);
  memcpy(p, "WAVEfmt ", 8), p = le(p + 8, 16, 4);
  p = le(le(p, 1, 2), (unsigned)channels, 2);
  p = le(le(p, (unsigned)rate, 4), (unsigned)rate * (unsigned)channels * 2, 4);
  p = le(le(p, (unsigned)(channels * 2), 2), 16, 2);
  memcpy(p, "data", 4), p = le(p + 4, data, 4);
  for (int i = 0; i < samples; i++)
    for (int c = 0; c < channels; c++) {
      double t = (double)i / rate, hz = 150 + 37 * (seed % 29);
      double v = 6000 * sin(6.2831853 * hz * t) + 3000 * sin(6.2831853 * (hz * 2.5 + 400 * t) * t);
      p = le(p, (unsigned)(int)(v / (c + 1)), 2);
    }
  fixture_bytes(path, all, (size_t)(p - all));
  free(all);
}

const char *fixture_corpus(const char *name, int n) {
  static const char *const words[] = {"a", "ab", "abc", "cab", "b a", "ab c", "bab", "ca"};
  const char *manifest = fixture_path("%s.jsonl", name);
  FILE *f = fopen(manifest, "w");
  for (int i = 0; i < n; i++) {
    int samples = 800 + (i * 2741) % 8000;
    const char *wav = fixture_path("%s-u%03d.wav", name, i);
    fixture_wav(wav, 8000, 1, samples, (unsigned)i);
    fprintf(f, "{\"name\": \"u%03d\", \"audio_path\": \"%s-u%03d.wav\", \"text\": \"%s\", ", i,
            name, i, words[i % 8]);
    fprintf(f, "\"duration\": %.6f}\n", samples / 8000.0);
  }
  if (fclose(f)) perror(manifest), exit(1);
  return manifest;
}

fixture_data fixture_spec(const char *manifest) {
  open_folder();
  gr_vocab *v = GR_NEW(arena, gr_vocab, 1);
  gr_status s = gr_vocab_make(arena, "abc ", -1, v);
  if (s) gr_status_print(stderr, s), exit(1);
  return (fixture_data){.speech = {.train = manifest,
                                   .vocab = v,
                                   .features = {8000, 200, 80, 256, 8, 0, 0, true},
                                   .augment = {1, 2, 1, 20, 0.5}},
                        .options = {.n_buckets = 3, .length_multiple = 4, .cache_bytes = 1 << 24}};
}

gr_status fixture_open(const fixture_data *data, gr_dataset **out) {
  return gr_dataset_create(&gr_source_speech, &data->speech, &data->options, out);
}

const gr_speech_item *fixture_item(const gr_dataset *d, uint32_t sample) {
  const gr_speech *speech = gr_dataset_source(d);
  return speech->items + gr_dataset_sample(d, sample)->index;
}

uint64_t fixture_skipped(const gr_dataset *d, gr_speech_skip why) {
  return ((const gr_speech *)gr_dataset_source(d))->skipped[why].n;
}

const void *fixture_field(const gr_batch *b, const char *name, gr_type *type) {
  for (int i = 0; i < b->n_fields; i++) {
    if (strcmp(b->field[i].name, name)) continue;
    *type = b->field[i].type;
    return b->field[i].data;
  }
  fprintf(stderr, "there is no field %s\n", name);
  exit(1);
}

bool fixture_notes(const gr_dataset *d, const char *text) {
  gr_text t = gr_text_make(arena);
  gr_dataset_notes(d, &t);
  bool found = text ? t.len && strstr(t.chars, text) : !t.len;
  if (!found) fprintf(stderr, "notes: %s\n", t.len ? t.chars : "none");
  return found;
}
