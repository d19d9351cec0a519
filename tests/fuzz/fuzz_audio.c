// fuzz_audio.c - any bytes are a recording or an error; samples are numbers, as many as are said.
#include "fuzz_file.h"
// fuzz_file.h needs to be first.
#include <math.h>
#include "runtime/data/speech/audio.h"

// FLAC codes a constant block of 65,535 samples in some ten bytes.
const fuzz_budget fuzz_memory = {8 << 20, 1 << 16};

// libsndfile forgets what libvorbis has allocated for a damaged OGG file.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libvorbis\nleak:libsndfile\n"; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file f = fuzz_file_make(data, size);
  gr_audio_info info;
  float *x = NULL;
  uint64_t n = 0;
  gr_status s = gr_audio_probe(f.path, &info);
  fuzz_print(s);
  s = gr_audio_read(f.path, size % 3 ? 0 : 8000, 1 << 22, &x, &n);
  HOLDS(s ? !x : x && n > 0);
  for (uint64_t i = 0; i < n && !s; i++) HOLDS(isfinite(x[i]));
  free(x);
  // The same from memory.
  gr_audio_info same = {0};
  gr_status other = gr_audio_probe_bytes("input", data, size, &same);
  uint64_t m = 0;
  if (!other)
    other = gr_audio_read_bytes("input", data, size, size % 3 ? 0 : 8000, 1 << 22, &x, &m);
  HOLDS(!s == !other && (s || n == m));
  if (!other) free(x);
  fuzz_print(s), fuzz_print(other);
  fuzz_file_close(&f);
  return 0;
}
