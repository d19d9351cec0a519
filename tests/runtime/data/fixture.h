// fixture.h - recordings and manifests that a test makes for itself, and takes away again.
#pragma once
#include "runtime/data/parts.h"
#include "runtime/data/speech/speech.h"
#include "tests/check.h"

// A path in this test's own folder, which goes when the program ends. Valid until then.
const char *fixture_path(const char *fmt, ...) GR_PRINTF(1, 2);
// Writes a file; aborts where that fails.
void fixture_bytes(const char *path, const void *, size_t bytes);
// Writes a file of that text.
void fixture_text(const char *path, const char *text);
// 16-bit WAV of a few tones; each seed sounds different. Channels differ in loudness.
void fixture_wav(const char *path, int rate, int channels, int samples, unsigned seed);

// n recordings u000.wav ... of 0.1 to 1.1 seconds at 8000 Hz and a manifest; the texts are over
// "ab c". Returns the manifest's path.
const char *fixture_corpus(const char *name, int n);
// Small features and a vocabulary for it, into an arena of the fixture's.
typedef struct fixture_data {
  gr_speech_spec speech;
  gr_dataset_options options;
} fixture_data;
// What opens a manifest with small features, in three buckets.
fixture_data fixture_spec(const char *manifest);
// Opens the data set; the caller closes it.
gr_status fixture_open(const fixture_data *, gr_dataset **);
// The recording that a sample is.
const gr_speech_item *fixture_item(const gr_dataset *, uint32_t sample);
// How many recordings were skipped for that reason.
uint64_t fixture_skipped(const gr_dataset *, gr_speech_skip);
// The values of a batch's field of that name; the test fails where there is none.
const void *fixture_field(const gr_batch *, const char *name, gr_type *type);

// Expects an error of that code whose text holds `part`, at `line` of its file (0: any). Here,
// not in fixture.c: check.h counts failures in each source file by itself.
static inline void fixture_fails(gr_status s, gr_code code, int line, const char *part) {
  CHECK(s, "it must fail with '%s'", part);
  CHECK(gr_status_code(s) == code, "code %d, not %d: %s", gr_status_code(s), code,
        gr_status_text(s));
  CHECK(strstr(gr_status_text(s), part), "'%s' is not in '%s'", part, gr_status_text(s));
  CHECK(!line || gr_status_loc(s).line == line, "line %d, not %d: %s", gr_status_loc(s).line, line,
        gr_status_text(s));
  gr_status_drop(s);
}
// Whether the lines that a run prints of the data have this text; NULL: whether there are none.
bool fixture_notes(const gr_dataset *, const char *text);
