// test_features.c - frames against PyTorch (tests/golden/make_features.py), and SpecAugment.
#include <math.h>
#include "runtime/data/speech/feature.h"
#include "tests/runtime/data/fixture.h"

static int number(FILE *f) {
  int v = 0;
  CHECK(fscanf(f, "%d", &v) == 1, "a number in the golden file");
  return v;
}

// The largest difference from a golden file, in the unit of its values. `spec` has what the file's
// first line does not say.
static double compare(FILE *f, gr_feature_spec spec) {
  int v[8];
  for (int i = 0; i < 8; i++) v[i] = number(f);
  spec.rate = v[0], spec.window = v[1], spec.hop = v[2], spec.fft = v[3], spec.mels = v[4];
  spec.normalise = v[5];
  gr_arena *a = gr_arena_create();
  gr_features features;
  MUST(gr_features_make(a, &spec, &features));
  float *x = GR_NEW(a, float, v[6]), *y = GR_NEW(a, float, v[4] * (v[7] + 2));
  for (int i = 0; i < v[6]; i++) x[i] = (float)number(f) / 32768;
  if (spec.drop_last) spec.length = number(f);
  features.spec.length = spec.length;
  CHECK(gr_feature_frames(&spec, (uint64_t)v[6]) == v[7], "%d frames", v[7]);
  MUST(gr_features_compute(&features, x, (uint64_t)v[6], y));
  double worst = 0, want = 0;
  for (int i = 0; i < v[4] * v[7]; i++) {
    CHECK(fscanf(f, "%lf", &want) == 1, "value %d of the golden file", i);
    double apart = fabs(y[i] - want) / (1 + fabs(want));
    worst = apart > worst ? apart : worst;
  }
  gr_arena_destroy(a);
  return worst;
}

static void compare_file(const char *name, const gr_feature_spec *spec) {
  char path[512];
  snprintf(path, sizeof path, "%s/features_%s.txt", GR_GOLDEN, name);
  FILE *f = fopen(path, "r");
  CHECK(f, "no %s", path);
  if (!f) return;
  double worst = compare(f, *spec);
  fclose(f);
  CHECK(worst < 1e-5, "%s: off by %g", name, worst);
}

static void as_pytorch(void) {
  static const char *const names[] = {"8k", "16k", "odd", "prime"};
  for (int i = 0; i < 4; i++) compare_file(names[i], &(gr_feature_spec){0});
}

// Slaney's scale and filters, log10 in a range, padded and cut (tests/golden/whisper_features.py).
static void as_whisper(void) {
  const gr_feature_spec spec = {.mel_scale = GR_MEL_SLANEY,
                                .area_norm = true,
                                .log10 = true,
                                .range = 8,
                                .offset = 4,
                                .scale = 0.25,
                                .drop_last = true};
  compare_file("whisper80", &spec);   // padded, with frames of silence alone
  compare_file("whisper128", &spec);  // cut
}

// Silence that is added gives the frames of silence that was recorded.
static void pads_with_silence(void) {
  gr_feature_spec spec = {8000, 200, 80, 256, 20, 0, 0, false}, padded = spec;
  gr_arena *a = gr_arena_create();
  gr_features whole, longer;
  padded.length = 8000;
  MUST(gr_features_make(a, &spec, &whole));
  MUST(gr_features_make(a, &padded, &longer));
  float x[8000] = {0};
  float *y[2] = {GR_NEW(a, float, 20 * 101), GR_NEW(a, float, 20 * 101)};
  for (int n = 1; n < 8000; n += 61) {
    for (int i = 0; i < n; i++) x[i] = (float)sin(i * 0.3);
    MUST(gr_features_compute(&whole, x, 8000, y[0]));
    MUST(gr_features_compute(&longer, x, (uint64_t)n, y[1]));
    CHECK(!memcmp(y[0], y[1], 20 * 101 * sizeof(float)), "%d samples and silence", n);
  }
  gr_arena_destroy(a);
}

// Shorter than the padding, down to one sample: mirrored as often as it takes.
static void takes_any_length(void) {
  gr_feature_spec spec = {8000, 200, 80, 256, 20, 0, 0, true};
  gr_arena *a = gr_arena_create();
  gr_features f;
  MUST(gr_features_make(a, &spec, &f));
  float x[300], y[20 * 5];
  for (int i = 0; i < 300; i++) x[i] = (float)sin(i * 0.3);
  for (uint64_t n = 1; n <= 300; n += 13) {
    MUST(gr_features_compute(&f, x, n, y));
    for (int64_t i = 0; i < 20 * gr_feature_frames(&spec, n); i++)
      CHECK(isfinite(y[i]), "%d samples: value %d", (int)n, (int)i);
  }
  memset(x, 0, sizeof x);
  MUST(gr_features_compute(&f, x, 300, y));
  CHECK(y[0] == 0, "silence is the mean of silence, not %g", y[0]);
  gr_arena_destroy(a);
}

static void refuses_bad_settings(void) {
  gr_arena *a = gr_arena_create();
  gr_features f;
  gr_feature_spec good = {8000, 200, 80, 256, 20, 0, 0, true}, s = good;
  s.hop = 0;
  fixture_fails(gr_features_make(a, &s, &f), GR_ERR_CONFIG, 0, "features.hop must be from 1 to");
  s = good, s.fft = 128;
  fixture_fails(gr_features_make(a, &s, &f), GR_ERR_CONFIG, 0, "cannot hold a window");
  s = good, s.f_max = 4001;
  fixture_fails(gr_features_make(a, &s, &f), GR_ERR_CONFIG, 0, "do not fit below 4000 Hz");
  s = good, s.f_min = 4000;
  fixture_fails(gr_features_make(a, &s, &f), GR_ERR_CONFIG, 0, "from 4000 to 4000 Hz cannot be");
  gr_arena_destroy(a);
}

// A band between two bins would be the same constant in all frames.
static void refuses_empty_bands(void) {
  gr_arena *a = gr_arena_create();
  gr_features f;
  gr_feature_spec s = {8000, 200, 80, 256, 100, 0, 0, true};
  gr_status e = gr_features_make(a, &s, &f);
  CHECK(e && strstr(gr_status_text(e), "of 100 mel bands hold no bin"), "%s", gr_status_text(e));
  CHECK(e && !strncmp(gr_status_about(e), "features.mels ", 14), "%s", gr_status_about(e));
  int mels = 0, fft = 0;
  CHECK(e && sscanf(gr_status_hint(e), "a features.mels of at most %d, or a features.n_fft of %d",
                    &mels, &fft) == 2,
        "%s", gr_status_hint(e));
  gr_status_drop(e);
  // The hints' numbers work, and the first is the largest that does.
  s.fft = fft;
  MUST(gr_features_make(a, &s, &f));
  for (int m = 0; m < s.mels; m++) CHECK(f.first_bin[m] < f.end_bin[m], "band %d is empty", m);
  s.fft = 256, s.mels = mels;
  MUST(gr_features_make(a, &s, &f));
  for (int more = 1; more < 4; more++) {
    char hint[64];
    s.mels = mels + more;
    e = gr_features_make(a, &s, &f);
    snprintf(hint, sizeof hint, "a features.mels of at most %d, or", mels);
    CHECK(e && strstr(gr_status_hint(e), hint), "%s", gr_status_hint(e));
    gr_status_drop(e);
  }
  // No transform is fine enough for a narrow range.
  s = (gr_feature_spec){8000, 200, 80, 256, 4096, 10, 11, true};
  fixture_fails(gr_features_make(a, &s, &f), GR_ERR_CONFIG, 0,
                "4096 of 4096 mel bands hold no bin");
  gr_arena_destroy(a);
}

static void names_the_setting(void) {
  static const struct {
    gr_feature_spec spec;
    const char *about;
  } cases[] = {
      {{0, 200, 80, 256, 20, 0, 0, true}, "sample_rate"},
      {{8000, 200, 80, 65537, 20, 0, 0, true}, "features.n_fft"},
      {{8000, 0, 80, 256, 20, 0, 0, true}, "features.window"},
      {{8000, 257, 80, 256, 20, 0, 0, true}, "features.window features.n_fft"},
      {{8000, 200, 65537, 256, 20, 0, 0, true}, "features.hop"},
      {{8000, 200, 80, 256, 4097, 0, 0, true}, "features.mels"},
      {{8000, 200, 80, 256, 20, -1, 0, true}, "features.fmin features.fmax sample_rate"},
      {{8000, 200, 80, 256, 20, 0, 4001, true}, "features.fmax sample_rate"},
  };
  gr_arena *a = gr_arena_create();
  gr_features f;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_status s = gr_features_make(a, &cases[i].spec, &f);
    CHECK(s && gr_status_about(s) && !strcmp(gr_status_about(s), cases[i].about), "%s: %s",
          cases[i].about, gr_status_text(s));
    gr_status_drop(s);
  }
  gr_arena_destroy(a);
}

enum { T = 60, MELS = 12 };
static void augment(const gr_augment *s, uint64_t seed, uint64_t epoch, uint64_t u, float *x) {
  for (int i = 0; i < T * MELS; i++) x[i] = 1;
  gr_augment_apply(s, seed, epoch, u, x, T, MELS);
}

// Counts the bins and frames of ones that are masked, and checks that nothing else is.
static void count_hidden(const float *x, int t, int *bins, int *rows) {
  int zeros = 0;
  *bins = *rows = 0;
  for (int m = 0; m < MELS; m++) {
    int n = 0;
    for (int k = 0; k < t; k++) n += x[k * MELS + m] == 0;
    *bins += n == t, zeros += n;
  }
  for (int k = 0; k < t; k++) {
    int n = 0;
    for (int m = 0; m < MELS; m++) n += x[k * MELS + m] == 0;
    *rows += n == MELS;
  }
  CHECK(zeros == *bins * t + *rows * MELS - *bins * *rows, "only whole bins and frames are masked");
}

static void masks_whole_bins_and_frames(void) {
  gr_augment both = {1, 5, 1, 40, 0.25};
  int widest_f = 0, widest_t = 0;
  for (uint64_t u = 0; u < 400; u++) {
    float x[T * MELS];
    int bins, rows;
    augment(&both, 7, 1, u, x);
    count_hidden(x, T, &bins, &rows);
    widest_f = bins > widest_f ? bins : widest_f, widest_t = rows > widest_t ? rows : widest_t;
  }
  CHECK(widest_f == 5, "the widest mask of bins is %d of 5", widest_f);
  CHECK(widest_t == 15, "the widest mask of frames is %d of a quarter of %d", widest_t, T);
}

// Two masks can hide twice what one can, of bins as of frames: each has draws of its own.
static void masks_are_drawn_apart(void) {
  gr_augment two = {2, 3, 2, 5, 1};
  int widest_f = 0, widest_t = 0;
  for (uint64_t u = 0; u < 400; u++) {
    float x[T * MELS];
    int bins, rows;
    augment(&two, 7, 1, u, x);
    count_hidden(x, T, &bins, &rows);
    widest_f = bins > widest_f ? bins : widest_f, widest_t = rows > widest_t ? rows : widest_t;
  }
  CHECK(widest_f == 6, "two masks of 3 bins hide %d at most", widest_f);
  CHECK(widest_t == 10, "two masks of 5 frames hide %d at most", widest_t);
}

// Of as many frames as bins, masks of both with the same draws would be equally wide.
static void masks_of_bins_are_not_those_of_frames(void) {
  gr_augment both = {1, 3, 1, 3, 1};
  int alike = 0;
  for (uint64_t u = 0; u < 400; u++) {
    float x[MELS * MELS];
    int bins, rows;
    for (int i = 0; i < MELS * MELS; i++) x[i] = 1;
    gr_augment_apply(&both, 7, 1, u, x, MELS, MELS);
    count_hidden(x, MELS, &bins, &rows);
    alike += bins == rows;
  }
  CHECK(alike > 60 && alike < 140, "%d of 400 are alike, a quarter would be by chance", alike);
}

static void masks_depend_on_what_they_should(void) {
  gr_augment s = {2, 4, 2, 20, 1};
  float a[T * MELS], b[T * MELS];
  augment(&s, 7, 3, 11, a);
  augment(&s, 7, 3, 11, b);
  CHECK(!memcmp(a, b, sizeof a), "the same");
  static const uint64_t other[3][3] = {{8, 3, 11}, {7, 4, 11}, {7, 3, 12}};
  for (int i = 0; i < 3; i++) {
    augment(&s, other[i][0], other[i][1], other[i][2], b);
    CHECK(memcmp(a, b, sizeof a) != 0, "seed, epoch and utterance count (%d)", i);
  }
  gr_augment wide = {3, 500, 3, 500, 1}, none = {0};
  for (uint64_t u = 0; u < 50; u++) augment(&wide, 7, 3, u, b);  // clipped to what there is
  augment(&none, 7, 3, 11, b);
  for (int i = 0; i < T * MELS; i++) CHECK(b[i] == 1, "nothing masked");
}

// Of frames that are their own times: the ends stay, and the rest lies on two lines that meet where
// a frame has moved to.
static void warps_between_the_ends(void) {
  gr_augment s = {.time_warp = 10};
  float furthest = 0;
  for (uint64_t u = 0; u < 400; u++) {
    float x[(T + 1) * MELS];  // one frame more, which belongs to no sample: not a number
    for (int i = 0; i < T * MELS; i++) x[i] = (float)(i / MELS);
    for (int m = 0; m < MELS; m++) x[T * MELS + m] = NAN;
    gr_augment_apply(&s, 7, 3, u, x, T, MELS);
    int bends = 0;
    for (int t = 1; t < T - 1; t++) {
      float before = x[t * MELS] - x[(t - 1) * MELS], after = x[(t + 1) * MELS] - x[t * MELS];
      bends += fabsf(after - before) > 1e-3F;
      CHECK(before > 0, "frame %d is not after frame %d", t, t - 1);
      float moved = fabsf(x[t * MELS] - (float)t);
      furthest = moved > furthest ? moved : furthest;
    }
    for (int m = 0; m < MELS; m++)
      CHECK(x[m] == 0 && x[(T - 1) * MELS + m] == T - 1, "the ends have moved");
    CHECK(bends <= 2, "%d bends", bends);  // two, where the lines meet between frames
  }
  CHECK(furthest > 9 && furthest <= 10.01F, "moved by %g of 10", (double)furthest);
  float few[3 * MELS] = {1, 2, 3}, same[3 * MELS] = {1, 2, 3};
  gr_augment_apply(&s, 7, 3, 1, few, 3, MELS);
  CHECK(!memcmp(few, same, sizeof few), "three frames have nowhere to move");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"as_pytorch", as_pytorch}, {"as_whisper", as_whisper},
             {"pads_with_silence", pads_with_silence}, {"takes_any_length", takes_any_length},
             {"refuses_bad_settings", refuses_bad_settings},
             {"refuses_empty_bands", refuses_empty_bands}, {"names_the_setting", names_the_setting},
             {"masks_whole_bins_and_frames", masks_whole_bins_and_frames},
             {"masks_are_drawn_apart", masks_are_drawn_apart},
             {"masks_of_bins_are_not_those_of_frames", masks_of_bins_are_not_those_of_frames},
             {"masks_depend_on_what_they_should", masks_depend_on_what_they_should},
             {"warps_between_the_ends", warps_between_the_ends});
}
