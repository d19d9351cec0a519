// feature.c - see feature.h.
#include "runtime/data/speech/feature.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mel_of(double hz) { return 2595.0 * log10(1.0 + hz / 700.0); }
static double hz_of(double mel) { return 700.0 * (pow(10.0, mel / 2595.0) - 1.0); }

static gr_status check_edges(const gr_feature_spec *s) {
  double half = s->rate / 2.0, top = s->f_max > 0 ? s->f_max : half;
  if (top > half)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "mel bands up to %g Hz do not fit below %g Hz, half of %d "
                                    "samples a second",
                                    top, half, s->rate),
                            "features.fmax sample_rate"),
                   "a features.fmax of at most %g, or 0 for that", half);
  if (s->f_min >= 0 && s->f_min < top) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "mel bands from %g to %g Hz cannot be",
                                  s->f_min, top),
                          "features.fmin features.fmax sample_rate"),
                 "a features.fmin from 0 to below %g", top);
}

static gr_status check(const gr_feature_spec *s) {
  GR_TRY(gr_range("sample_rate", s->rate, 1, GR_MAX_RATE));
  GR_TRY(gr_range("features.n_fft", s->fft, 2, GR_MAX_POINTS));
  GR_TRY(gr_range("features.window", s->window, 1, GR_MAX_POINTS));
  GR_TRY(gr_range("features.hop", s->hop, 1, GR_MAX_POINTS));
  GR_TRY(gr_range("features.mels", s->mels, 1, GR_MAX_MELS));
  if (s->window > s->fft)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "a Fourier transform of %d points cannot hold a window of %d samples",
                         s->fft, s->window),
                 "features.window features.n_fft"),
        "a features.window of at most %d, or a features.n_fft of at least %d", s->fft, s->window);
  return check_edges(s);
}

static void make_window(gr_arena *a, gr_features *f) {
  double *w = GR_NEW(a, double, f->spec.fft);
  int from = (f->spec.fft - f->spec.window) / 2;
  for (int i = 0; i < f->spec.window; i++)
    w[from + i] = 0.5 - 0.5 * cos(6.283185307179586477 * i / f->spec.window);
  f->window = w;
}

// The lower edge, the centre and the upper edge of band m, in Hz.
static void edges(const gr_feature_spec *s, int m, double point[3]) {
  double low = mel_of(s->f_min), high = mel_of(s->f_max > 0 ? s->f_max : s->rate / 2.0);
  for (int i = 0; i < 3; i++) point[i] = hz_of(low + (high - low) * (m + i) / (s->mels + 1));
}

// A triangle over the band; bins are spread over 0 .. rate / 2.
static double weight(const gr_feature_spec *s, const double point[3], int k) {
  double hz = (double)s->rate * k / s->fft;
  double up = (hz - point[0]) / (point[1] - point[0]);
  double down = (point[2] - hz) / (point[2] - point[1]);
  double v = up < down ? up : down;
  return v > 0 ? v : 0;
}

// The bins of band m; *to is 0 if it has none.
static void find_bins(const gr_feature_spec *s, int m, int *from, int *to) {
  double point[3], apart = (double)s->rate / s->fft;
  edges(s, m, point);
  int last = (int)(point[2] / apart) + 2;  // rounding may put a bin on either side of an edge
  *from = *to = 0;
  for (int k = (int)(point[0] / apart); k < last && k <= s->fft / 2; k++) {
    if (weight(s, point, k) <= 0) continue;
    if (!*to) *from = k;
    *to = k + 1;
  }
}

// The first band from m on that has no bin; `mels` if all have one.
static int next_empty(const gr_feature_spec *s, int m) {
  for (int from, to; m < s->mels; m++) {
    find_bins(s, m, &from, &to);
    if (!to) break;
  }
  return m;
}
static bool has_empty(const gr_feature_spec *s) { return next_empty(s, 0) < s->mels; }

// A band without a bin is constant over all frames: the model would learn from fewer bands than
// configured.
static gr_status check_bands(const gr_feature_spec *s) {
  int first = next_empty(s, 0), empty = 0;
  if (first == s->mels) return GR_OK;
  for (int m = first; m < s->mels; m = next_empty(s, m + 1)) empty++;
  double point[3];
  edges(s, first, point);
  gr_feature_spec fewer = *s, finer = *s;
  while (fewer.mels > 1 && has_empty(&fewer)) fewer.mels--;
  while (finer.fft < GR_MAX_POINTS && has_empty(&finer))
    finer.fft = 2 * finer.fft < GR_MAX_POINTS ? 2 * finer.fft : GR_MAX_POINTS;
  gr_status e = gr_about(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
              "%d of %d mel bands hold no bin of a Fourier transform of %d points at %d samples a "
              "second: band %d is from %.1f to %.1f Hz, and bins are %.1f Hz apart",
              empty, s->mels, s->fft, s->rate, first, point[0], point[2], (double)s->rate / s->fft),
      "features.mels features.n_fft features.fmin features.fmax sample_rate");
  return has_empty(&finer) ? gr_hint(e, "a features.mels of at most %d", fewer.mels)
                           : gr_hint(e, "a features.mels of at most %d, or a features.n_fft of %d",
                                     fewer.mels, finer.fft);
}

static void make_filters(gr_arena *a, gr_features *f) {
  const gr_feature_spec *s = &f->spec;
  const float **filters = GR_NEW(a, const float *, s->mels);
  int *from = GR_NEW(a, int, s->mels), *to = GR_NEW(a, int, s->mels);
  for (int m = 0; m < s->mels; m++) {
    double point[3];
    edges(s, m, point);
    find_bins(s, m, from + m, to + m);
    float *row = GR_NEW(a, float, to[m] - from[m]);
    for (int k = from[m]; k < to[m]; k++) row[k - from[m]] = (float)weight(s, point, k);
    filters[m] = row;
  }
  f->filters = filters, f->from = from, f->to = to;
}

gr_status gr_features_make(gr_arena *a, const gr_feature_spec *spec, gr_features *out) {
  GR_TRY(check(spec));
  GR_TRY(check_bands(spec));
  *out = (gr_features){.spec = *spec, .bins = spec->fft / 2 + 1};
  out->fft = gr_fft_make(spec->fft, GR_NEW(a, gr_complex, spec->fft));
  make_window(a, out);
  make_filters(a, out);
  return GR_OK;
}

int64_t gr_feature_frames(const gr_feature_spec *s, uint64_t samples) {
  return (int64_t)(samples / (uint64_t)s->hop) + 1;
}

// Reflects the index at both ends, without repeating the end samples, until it is in range.
static float reflected(const float *x, int64_t n, int64_t i) {
  if (n == 1) return x[0];
  int64_t period = 2 * (n - 1);
  i %= period;
  if (i < 0) i += period;
  return x[i < n ? i : period - i];
}

typedef struct scratch {
  gr_complex *in, *out, *t;  // [fft], [fft], [largest factor]
  double *power[2];          // [bins]
} scratch;

// Power spectra of frames i and i + 1: two real signals are transformed as one complex signal.
static void spectra(const gr_features *f, const float *x, int64_t n, int64_t i, scratch *s) {
  int fft = f->spec.fft;
  int64_t at = i * f->spec.hop - fft / 2;
  int64_t next = at + f->spec.hop;
  bool inside = at >= 0 && next + fft <= n;
  for (int k = 0; k < fft; k++) {
    float a = inside ? x[at + k] : reflected(x, n, at + k);
    float b = inside ? x[next + k] : reflected(x, n, next + k);
    s->in[k] = (gr_complex){a * f->window[k], b * f->window[k]};
  }
  gr_fft_run(&f->fft, s->in, s->out, s->t);
  for (int k = 0; k < f->bins; k++) {
    gr_complex p = s->out[k], q = s->out[k ? fft - k : 0];
    double a = p.re + q.re, b = p.im - q.im, c = p.im + q.im, d = p.re - q.re;
    s->power[0][k] = 0.25 * (a * a + b * b);
    s->power[1][k] = 0.25 * (c * c + d * d);
  }
}

static void mel_frame(const gr_features *f, const double *power, float *out) {
  for (int m = 0; m < f->spec.mels; m++) {
    const float *w = f->filters[m];
    double sum = 0;
    for (int k = f->from[m]; k < f->to[m]; k++) sum += w[k - f->from[m]] * power[k];
    out[m] = (float)(10.0 * log10(sum > 1e-10 ? sum : 1e-10));
  }
}

static void normalise(float *x, int64_t t, int mels) {
  for (int m = 0; m < mels; m++) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < t; i++) sum += x[i * mels + m];
    double mean = sum / (double)t;
    for (int64_t i = 0; i < t; i++) square += pow(x[i * mels + m] - mean, 2);
    double deviation = t > 1 ? sqrt(square / (double)(t - 1)) : 0;
    for (int64_t i = 0; i < t; i++)
      x[i * mels + m] = (float)((x[i * mels + m] - mean) / (deviation + 1e-5));
  }
}

gr_status gr_features_compute(const gr_features *f, const float *samples, uint64_t n, float *out) {
  size_t fft = (size_t)f->spec.fft, bins = (size_t)f->bins, largest = (size_t)f->fft.largest;
  size_t bytes = (2 * fft + largest) * sizeof(gr_complex) + 2 * bins * sizeof(double);
  gr_complex *all = malloc(bytes);
  if (!all) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for features (%zu bytes)", bytes);
  scratch s = {all, all + fft, all + 2 * fft, {(double *)(all + 2 * fft + largest), NULL}};
  s.power[1] = s.power[0] + bins;
  int64_t t = gr_feature_frames(&f->spec, n);
  for (int64_t i = 0; i < t; i += 2) {
    spectra(f, samples, (int64_t)n, i, &s);
    for (int j = 0; j < 2 && i + j < t; j++) mel_frame(f, s.power[j], out + (i + j) * f->spec.mels);
  }
  free(all);
  if (f->spec.normalise) normalise(out, t, f->spec.mels);
  return GR_OK;
}
