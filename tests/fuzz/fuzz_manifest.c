// fuzz_manifest.c - any bytes are a manifest of recordings, a Parquet file of them, or an error,
// with transcripts and with classes; one recording is there.
#include "fuzz_source.h"
#include "runtime/data/speech/speech.h"

const fuzz_budget fuzz_memory = {16 << 20, 1 << 16};

static void put_recording(void) {
  unsigned char wav[44 + 1600] =
      "RIFF\x64\x06\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"
      "data\x40\x06";
  for (size_t i = 44; i < sizeof wav; i++) wav[i] = (unsigned char)(37 * i);
  fuzz_put("a.wav", wav, sizeof wav);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gr_arena *a = gr_arena_create();
  gr_vocab vocab;
  gr_status s = gr_vocab_make(a, "abc ", -1, &vocab);
  HOLDS(!s);
  put_recording();
  bool parquet = size > 3 && !memcmp(data, "PAR1", 4);
  gr_speech_spec spec = {.train = fuzz_put(parquet ? "m.parquet" : "m.jsonl", data, size),
                         .vocab = &vocab,
                         .text = {.unknown = (gr_unknown)(size % 3)},
                         .features = {8000, 200, 80, 256, 8, 0, 0, true}};
  fuzz_source(&gr_source_speech, &spec);
  spec.keys.label = "text";
  fuzz_source(&gr_source_speech, &spec);
  gr_arena_destroy(a);
  return 0;
}
