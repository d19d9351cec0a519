// feature.c - see feature.h.
#include "runtime/feature.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mel_of(double hz) { return 2595.0 * log10(1.0 + hz / 700.0); }
static double hz_of(double mel) { return 700.0 * (pow(10.0, mel / 2595.0) - 1.0); }

static gr_status check(const gr_feature_spec *s) {
  double top = s->f_max > 0 ? s->f_max : s->rate / 2.0;
  if (s->rate < 1 || s->hop < 1 || s->window < 1 || s->mels < 1)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "features need a rate, window, hop and mels of at least 1, not %d, %d, %d, %d",
                   s->rate, s->window, s->hop, s->mels);
  if (s->fft < s->window || s->fft < 2 || s->fft > 1 << 20)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "a Fourier transform of %d points cannot hold a window of %d samples", s->fft,
                   s->window);
  if (s->f_min < 0 || s->f_min >= top || top > s->rate / 2.0)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "mel filters from %g to %g Hz do not fit below half of %d samples a second",
                   s->f_min, top, s->rate);
  return GR_OK;
}

static void make_window(gr_arena *a, gr_features *f) {
  double *w = GR_NEW(a, double, f->spec.fft);
  int from = (f->spec.fft - f->spec.window) / 2;
  for (int i = 0; i < f->spec.window; i++)
    w[from + i] = 0.5 - 0.5 * cos(6.283185307179586477 * i / f->spec.window);
  f->window = w;
}

// A triangle between the points around filter m; bins are spread over 0 .. rate / 2.
static void make_filter(gr_features *f, int m, float *row, int *from, int *to) {
  const gr_feature_spec *s = &f->spec;
  double low = mel_of(s->f_min), high = mel_of(s->f_max > 0 ? s->f_max : s->rate / 2.0), point[3];
  for (int i = 0; i < 3; i++) point[i] = hz_of(low + (high - low) * (m + i) / (s->mels + 1));
  *from = *to = 0;
  for (int k = 0; k < f->bins; k++) {
    double hz = (double)s->rate * k / s->fft;
    double up = (hz - point[0]) / (point[1] - point[0]);
    double down = (point[2] - hz) / (point[2] - point[1]);
    double v = up < down ? up : down;
    row[k] = v > 0 ? (float)v : 0;
    if (v <= 0) continue;
    if (!*to) *from = k;
    *to = k + 1;
  }
}

gr_status gr_features_make(gr_arena *a, const gr_feature_spec *spec, gr_features *out) {
  GR_TRY(check(spec));
  *out = (gr_features){.spec = *spec, .bins = spec->fft / 2 + 1};
  out->fft = gr_fft_make(spec->fft, GR_NEW(a, gr_complex, spec->fft));
  make_window(a, out);
  float *filters = GR_NEW(a, float, (size_t)spec->mels *(size_t)out->bins);
  int *from = GR_NEW(a, int, spec->mels), *to = GR_NEW(a, int, spec->mels);
  for (int m = 0; m < spec->mels; m++) {
    make_filter(out, m, filters + (size_t)m * (size_t)out->bins, from + m, to + m);
    out->empty += !to[m];
  }
  out->filters = filters, out->from = from, out->to = to;
  return GR_OK;
}

int64_t gr_feature_frames(const gr_feature_spec *s, uint64_t samples) {
  return (int64_t)(samples / (uint64_t)s->hop) + 1;
}

// Mirrors at both ends, the ends themselves not repeated, as often as it takes.
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

// Power spectra of frame i and the next: two real signals are one complex one.
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
    const float *w = f->filters + (size_t)m * (size_t)f->bins;
    double sum = 0;
    for (int k = f->from[m]; k < f->to[m]; k++) sum += w[k] * power[k];
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
