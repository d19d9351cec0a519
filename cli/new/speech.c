// speech.c - generated recordings: words in which each letter sounds as two tones.
#include <math.h>
#include "base/output.h"
#include "cli/new/new.h"

enum { COUNT = 120, TEST_COUNT = 20, LETTERS = 6, TONE = 640, GAP = 160, LEAST = 2, MOST = 6 };

// A little noise, so that recordings of one word differ.
static void put_letter(gr_text *t, int letter, const gr_rng *rng, uint64_t first) {
  const double pi = 3.14159265358979323846;
  double low = 350 + 230 * letter, high = 3600 - 290 * letter;
  for (int i = 0; i < TONE + GAP; i++) {
    double seconds = (double)i / GR_NEW_RATE,
           noise = 600 * (gr_rng_uniform(rng, first + (uint64_t)i) - 0.5);
    double tones = 7000 * (sin(2 * pi * low * seconds) + sin(2 * pi * high * seconds));
    gr_new_put_sample(t, (i < TONE ? tones : 0) + noise);
  }
}

static gr_status write_word(gr_arena *a, const char *dir, uint32_t number, gr_text *manifest) {
  gr_rng rng = gr_rng_make(number, "word", 0);
  int length = LEAST + (int)(gr_rng_u32(&rng, 0) % (MOST - LEAST + 1));
  uint32_t samples = (uint32_t)length * (TONE + GAP);
  char word[MOST + 1] = "";
  gr_text t = gr_text_make(a);
  gr_new_put_wav(&t, samples);
  for (int i = 0; i < length; i++) {
    int letter = (int)(gr_rng_u32(&rng, (uint64_t)i + 1) % LETTERS);
    word[i] = (char)('A' + letter);
    put_letter(&t, letter, &rng, 1000 + (uint64_t)i * (TONE + GAP));
  }
  const char *name = gr_arena_printf(a, "%03u.wav", number);
  gr_text_printf(manifest, "{\"audio_path\": \"%s\", \"text\": \"%s\", \"duration\": %.3f}\n", name,
                 word, (double)samples / GR_NEW_RATE);
  return gr_output_write(dir, name, t.chars, t.len);
}

// n recordings, and the manifest of them.
static gr_status write_words(gr_arena *a, const char *data, const char *name, uint32_t first,
                             uint32_t n) {
  gr_text manifest = gr_text_make(a);
  for (uint32_t i = first; i < first + n; i++) {
    gr_arena *scratch = gr_arena_create();
    gr_status s = write_word(scratch, data, i, &manifest);
    GR_TRY(gr_arena_end(scratch, s));
  }
  return gr_output_write(data, name, manifest.chars, manifest.len);
}

gr_status gr_new_speech(gr_arena *a, const char *dir) {
  const char *data = gr_arena_printf(a, "%s/data", dir);
  GR_TRY(gr_make_dirs(data));
  GR_TRY(write_words(a, data, "manifest.jsonl", 0, COUNT));
  return write_words(a, data, "test.jsonl", COUNT, TEST_COUNT);
}
