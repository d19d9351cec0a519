// test_decoder.c - speech for decoders: windows of one length, and symbols before and after
// transcripts.
#include "tests/runtime/data/fixture.h"
#include "tests/runtime/data/tally.h"

static const int32_t prefix[] = {4, 3}, suffix[] = {2};

static gr_dataset *open_pairs(int n, bool window) {
  fixture_data spec = fixture_spec(fixture_corpus(window ? "windows" : "pairs", n));
  spec.speech.around = (gr_target_text){{prefix, 2}, {suffix, 1}};
  spec.speech.features.normalise = false;
  if (window) spec.speech.features.length = 4000;  // longer than some, shorter than others
  spec.options.n_buckets = 1;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  return d;
}

// The sequence of a sample: prefix, transcript and suffix.
static int sequence_of(const gr_dataset *d, uint32_t sample, int32_t *out) {
  const gr_speech_item *item = fixture_item(d, sample);
  int n = 0;
  for (int i = 0; i < 2; i++) out[n++] = prefix[i];
  for (int i = 0; i < item->targets.n; i++) out[n++] = item->targets.items[i];
  out[n++] = suffix[0];
  return n;
}

static void check_row(const gr_dataset *d, const gr_batch *b, int r) {
  gr_type t;
  const int32_t *inputs = fixture_field(b, "decoder_inputs", &t), *labels;
  int64_t width = t.dim[1];
  labels = fixture_field(b, "labels", &t);
  CHECK(t.dim[1] == width && t.dtype == GR_I32, "both are as long");
  inputs += r * width, labels += r * width;
  int32_t all[64];
  int n = sequence_of(d, b->sample[r % (int)b->samples], all);
  CHECK(n <= width + 1, "%d symbols have room in %d", n, (int)width);
  for (int64_t i = 0; i < width; i++) {
    int32_t input = i < n - 1 ? all[i] : 0, label = i < n - 1 ? all[i + 1] : -100;
    CHECK(inputs[i] == input && labels[i] == label, "row %d, place %d: %d, %d", r, (int)i,
          inputs[i], labels[i]);
  }
}

// Five rows of a batch of eight, which the others repeat; each row is what its sample says.
static void gives_inputs_and_labels(void) {
  gr_dataset *d = open_pairs(5, false);
  gr_loader_spec spec = plain();
  spec.batch = 8;
  gr_loader *l;
  const gr_batch *b;
  MUST(gr_loader_open(d, &spec, &l));
  for (int k = 0; k < EPOCHS; k++) {
    MUST(gr_loader_next(l, &b));
    for (int r = 0; r < b->rows; r++) check_row(d, b, r);
  }
  gr_loader_close(l);
  gr_metadata m[GR_MAX_METADATA];
  int n = gr_dataset_metadata(d, m), found = 0;
  for (int i = 0; i < n; i++)
    found += (!strcmp(m[i].name, "prefix") && m[i].value == 2) ||
             (!strcmp(m[i].name, "end") && m[i].value == suffix[0]);
  CHECK(found == 2, "the length of the prefix, and the symbol at the end");
  gr_dataset_close(d);
}

static void windows_have_one_length(void) {
  gr_dataset *d = open_pairs(8, true);
  gr_loader_spec spec = plain();
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  bool cut = false, padded = false;
  for (uint32_t i = 0; i < 8; i++) {
    const gr_speech_item *item = fixture_item(d, i);
    CHECK(item->frames == 51, "%d frames", item->frames);
    cut |= item->hops > 51, padded |= item->hops < 51;
  }
  CHECK(cut && padded, "there are longer and shorter recordings");
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  (void)fixture_field(b, "x", &t);
  CHECK(t.dim[1] == 52, "%d frames of a bucket", (int)t.dim[1]);  // a multiple of 4
  gr_loader_close(l);
  gr_dataset_close(d);
}

// data.max_seconds is a limit of recordings, not of windows.
static void leaves_out_long_recordings(void) {
  fixture_data spec = fixture_spec(fixture_corpus("limits", 8));
  gr_dataset *d;
  spec.speech.max_frames = 40, spec.speech.features.length = 8000;
  MUST(fixture_open(&spec, &d));
  uint32_t n = 0;
  for (uint32_t i = 0; i < 8; i++) n += (800 + (i * 2741) % 8000) / 80 + 1 <= 40;
  CHECK(n > 0 && n < 8 && gr_dataset_samples(d) == n, "%u of %u", gr_dataset_samples(d), n);
  gr_dataset_close(d);
  spec.speech.features.length = (int64_t)80 << 24;
  fixture_fails(fixture_open(&spec, &d), GR_ERR_CONFIG, 0, "may have 16777216 at most");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"gives_inputs_and_labels", gives_inputs_and_labels},
             {"windows_have_one_length", windows_have_one_length},
             {"leaves_out_long_recordings", leaves_out_long_recordings});
}
