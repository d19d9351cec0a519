// feature.c - see feature.h.
#include "runtime/data/speech/feature.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Mel scales ----------------------------------------------------------------------------

static double htk_mel(double hz) { return 2595.0 * log10(1.0 + hz / 700.0); }
static double htk_hz(double mel) { return 700.0 * (pow(10.0, mel / 2595.0) - 1.0); }

// The scale of Slaney's Auditory Toolbox (1998), as librosa has it: three mels are 200 Hz up to
// 1000 Hz, and 27 mels a factor of 6.4 above.
static const double SLANEY_STEP = 200.0 / 3, SLANEY_EDGE = 1000, SLANEY_LOG_STEP = 27;
static double slaney_mel(double hz) {
  if (hz < SLANEY_EDGE) return hz / SLANEY_STEP;
  return SLANEY_EDGE / SLANEY_STEP + SLANEY_LOG_STEP * log(hz / SLANEY_EDGE) / log(6.4);
}
static double slaney_hz(double mel) {
  double above = mel - SLANEY_EDGE / SLANEY_STEP;
  return above < 0 ? mel * SLANEY_STEP : SLANEY_EDGE * exp(above * log(6.4) / SLANEY_LOG_STEP);
}

static const struct mel_scale {
  double (*mel_of)(double hz), (*hz_of)(double mel);
} mel_scales[] = {[GR_MEL_HTK] = {htk_mel, htk_hz}, [GR_MEL_SLANEY] = {slaney_mel, slaney_hz}};

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

static gr_status check_spec(const gr_feature_spec *s) {
  GR_TRY(gr_range("sample_rate", s->rate, 1, GR_MAX_RATE));
  GR_TRY(gr_range("features.n_fft", s->fft, 2, GR_MAX_POINTS));
  GR_TRY(gr_range("features.window", s->window, 1, GR_MAX_POINTS));
  GR_TRY(gr_range("features.hop", s->hop, 1, GR_MAX_POINTS));
  GR_TRY(gr_range("features.mels", s->mels, 1, GR_MAX_MELS));
  GR_TRY(gr_range("features.seconds", s->length, 0, INT32_MAX));
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
  int first = (f->spec.fft - f->spec.window) / 2;
  for (int i = 0; i < f->spec.window; i++)
    w[first + i] = 0.5 - 0.5 * cos(6.283185307179586477 * i / f->spec.window);
  f->window = w;
}

// The lower edge, the centre and the upper edge of band m, in Hz.
static void edges(const gr_feature_spec *s, int m, double point[3]) {
  const struct mel_scale *scale = &mel_scales[s->mel_scale];
  double low = scale->mel_of(s->f_min);
  double high = scale->mel_of(s->f_max > 0 ? s->f_max : s->rate / 2.0);
  for (int i = 0; i < 3; i++) point[i] = scale->hz_of(low + (high - low) * (m + i) / (s->mels + 1));
}

// A triangle over the band; bins are spread over 0 .. rate / 2.
static double weight(const gr_feature_spec *s, const double point[3], int k) {
  double hz = (double)s->rate * k / s->fft;
  double up = (hz - point[0]) / (point[1] - point[0]);
  double down = (point[2] - hz) / (point[2] - point[1]);
  double v = up < down ? up : down;
  if (s->area_norm) v *= 2 / (point[2] - point[0]);
  return v > 0 ? v : 0;
}

// The bins of band m; *to is 0 if it has none.
static void find_bins(const gr_feature_spec *s, int m, int *first, int *end) {
  double point[3], apart = (double)s->rate / s->fft;
  edges(s, m, point);
  int last = (int)(point[2] / apart) + 2;  // rounding may put a bin on either side of an edge
  *first = *end = 0;
  for (int k = (int)(point[0] / apart); k < last && k <= s->fft / 2; k++) {
    if (weight(s, point, k) <= 0) continue;
    if (!*end) *first = k;
    *end = k + 1;
  }
}

// The first band from m on that has no bin; `mels` if all have one.
static int next_empty(const gr_feature_spec *s, int m) {
  for (int first, end; m < s->mels; m++) {
    find_bins(s, m, &first, &end);
    if (!end) break;
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
  int *first_bin = GR_NEW(a, int, s->mels), *end_bin = GR_NEW(a, int, s->mels);
  for (int m = 0; m < s->mels; m++) {
    double point[3];
    edges(s, m, point);
    find_bins(s, m, first_bin + m, end_bin + m);
    float *row = GR_NEW(a, float, end_bin[m] - first_bin[m]);
    for (int k = first_bin[m]; k < end_bin[m]; k++)
      row[k - first_bin[m]] = (float)weight(s, point, k);
    filters[m] = row;
  }
  f->filters = filters, f->first_bin = first_bin, f->end_bin = end_bin;
}

gr_status gr_features_make(gr_arena *a, const gr_feature_spec *spec, gr_features *out) {
  GR_TRY(check_spec(spec));
  GR_TRY(check_bands(spec));
  *out = (gr_features){.spec = *spec, .bins = spec->fft / 2 + 1};
  out->fft = gr_fft_make(spec->fft, GR_NEW(a, gr_complex, spec->fft));
  make_window(a, out);
  make_filters(a, out);
  return GR_OK;
}

int64_t gr_feature_hops(const gr_feature_spec *s, uint64_t samples) {
  return (int64_t)(samples / (uint64_t)s->hop) + 1;
}

int64_t gr_feature_frames(const gr_feature_spec *s, uint64_t samples) {
  int64_t all = gr_feature_hops(s, s->length ? (uint64_t)s->length : samples);
  return all - (s->drop_last && all > 1);
}

// A recording with the silence that it is padded with.
typedef struct recording {
  const float *x;
  int64_t given, n;  // samples that are there, and with silence
} recording;

static recording recording_of(const gr_feature_spec *s, const float *x, uint64_t samples) {
  int64_t given = (int64_t)samples, n = s->length ? s->length : given;
  return (recording){x, given < n ? given : n, n};
}

// Reflects the index at both ends, without repeating the end samples, until it is in range.
static float reflected(const recording *r, int64_t i) {
  if (r->n == 1) return r->x[0];
  int64_t period = 2 * (r->n - 1);
  i %= period;
  if (i < 0) i += period;
  if (i >= r->n) i = period - i;
  return i < r->given ? r->x[i] : 0;
}

enum { FRAMES = 2 * GR_FFT_LANES };  // computed at once: two real signals are a complex one

typedef struct scratch {
  gr_complex_lanes *in, *out, *t;  // [fft], [fft], [largest factor]
  gr_lanes *power[2];              // [bins]: of the even frames and of the odd ones
} scratch;

// Frames first .. first + FRAMES - 1, those beyond the last like frame `first`.
static void window_frames(const gr_features *f, const recording *r, int64_t first, int64_t frames,
                          gr_complex_lanes *in) {
  int fft = f->spec.fft;
  for (int i = 0; i < FRAMES; i++) {
    int64_t frame = first + i < frames ? first + i : first, offset = frame * f->spec.hop - fft / 2;
    double *to = (i % 2 ? (double *)&in->im : (double *)&in->re) + i / 2;
    if (offset >= 0 && offset + fft <= r->given)
      for (int k = 0; k < fft; k++) to[k * FRAMES] = r->x[offset + k] * f->window[k];
    else
      for (int k = 0; k < fft; k++) to[k * FRAMES] = reflected(r, offset + k) * f->window[k];
  }
}

// Whether these frames are all within the silence at the end, so that their power is 0.
static bool are_silent(const gr_features *f, const recording *r, int64_t first) {
  int64_t half = f->spec.fft / 2, last = (first + FRAMES - 1) * f->spec.hop;
  return first * f->spec.hop - half >= r->given && last + f->spec.fft - half <= r->n;
}

static void spectra(const gr_features *f, scratch *s) {
  gr_fft_run(&f->fft, s->in, s->out, s->t);
  for (int k = 0; k < f->bins; k++) {
    const gr_complex_lanes *p = &s->out[k], *q = &s->out[k ? f->spec.fft - k : 0];
    gr_lanes a = p->re + q->re, b = p->im - q->im, c = p->im + q->im, d = p->re - q->re;
    s->power[0][k] = 0.25 * (a * a + b * b);
    s->power[1][k] = 0.25 * (c * c + d * d);
  }
}

// log10 of a positive normal number to within 2e-15: the logarithm of its mantissa in [sqrt(1/2),
// sqrt(2)) as the series of 2 artanh((m - 1) / (m + 1)). Unlike the C library's, the compiler can
// compute it in vectors.
static inline double log10_of(double x) {
  const uint64_t root_half = 0x3fe6a09e667f3bcd;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t exponent = (int64_t)(bits - root_half) >> 52;
  bits -= (uint64_t)exponent << 52;
  double m, sum = 0;
  memcpy(&m, &bits, sizeof m);
  double s = (m - 1) / (m + 1), z = s * s;
  for (int k = 17; k > 0; k -= 2) sum = sum * z + 1.0 / k;
  return (double)(int32_t)exponent * 0.30102999566398119521 + s * sum * 0.86858896380650365530;
}

static double level_of(const gr_feature_spec *s, double power) {
  return (s->log10 ? 1.0 : 10.0) * log10_of(power > 1e-10 ? power : 1e-10);
}

// The n frames from `out` on.
static void mel_frames(const gr_features *f, const scratch *s, int n, float *out) {
  for (int m = 0; m < f->spec.mels; m++) {
    const float *w = f->filters[m];
    double level[FRAMES];
    for (int j = 0; j < 2; j++) {
      gr_lanes sum = {0};
      for (int k = f->first_bin[m]; k < f->end_bin[m]; k++)
        sum += (double)w[k - f->first_bin[m]] * s->power[j][k];
      memcpy(level + j * GR_FFT_LANES, &sum, sizeof sum);
    }
    for (int i = 0; i < FRAMES; i++) level[i] = level_of(&f->spec, level[i]);
    for (int i = 0; i < n; i++)
      out[i * f->spec.mels + m] = (float)level[i % 2 * GR_FFT_LANES + i / 2];
  }
}

static void limit_range(float *x, int64_t n, double range) {
  float most = x[0];
  for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
  float least = most - (float)range;
  for (int64_t i = 0; i < n; i++) x[i] = x[i] > least ? x[i] : least;
}

static void shift_and_scale(float *x, int64_t n, double offset, double scale) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)((x[i] + offset) * scale);
}

// Over the frames of each bin; sums are those of one bin after the other.
static void normalise(float *x, int64_t t, int mels, double *mean, double *deviation) {
  for (int m = 0; m < mels; m++) mean[m] = deviation[m] = 0;
  for (int64_t i = 0; i < t; i++)
    for (int m = 0; m < mels; m++) mean[m] += x[i * mels + m];
  for (int m = 0; m < mels; m++) mean[m] /= (double)t;
  for (int64_t i = 0; i < t; i++)
    for (int m = 0; m < mels; m++) {
      double apart = x[i * mels + m] - mean[m];
      deviation[m] += apart * apart;
    }
  for (int m = 0; m < mels; m++) deviation[m] = t > 1 ? sqrt(deviation[m] / (double)(t - 1)) : 0;
  for (int64_t i = 0; i < t; i++)
    for (int m = 0; m < mels; m++)
      x[i * mels + m] = (float)((x[i * mels + m] - mean[m]) / (deviation[m] + 1e-5));
}

static void finish(const gr_feature_spec *s, float *x, int64_t t, double *sums) {
  double scale = s->scale != 0 ? s->scale : 1;
  if (s->range > 0) limit_range(x, t * s->mels, s->range);
  if (s->offset != 0 || scale != 1) shift_and_scale(x, t * s->mels, s->offset, scale);
  if (s->normalise) normalise(x, t, s->mels, sums, sums + s->mels);
}

static void put_silence(const gr_feature_spec *s, int64_t frames, float *out) {
  float level = (float)level_of(s, 0);
  for (int64_t i = 0; i < frames * s->mels; i++) out[i] = level;
}

gr_status gr_features_compute(const gr_features *f, const float *samples, uint64_t n, float *out) {
  size_t fft = (size_t)f->spec.fft, bins = (size_t)f->bins, largest = (size_t)f->fft.largest;
  size_t bytes = (2 * fft + largest) * sizeof(gr_complex_lanes) + 2 * bins * sizeof(gr_lanes);
  gr_complex_lanes *all = aligned_alloc(sizeof(gr_lanes), bytes);
  double *sums = malloc(2 * (size_t)f->spec.mels * sizeof *sums);
  if (!all || !sums) {
    free(all), free(sums);
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for features (%zu bytes)", bytes);
  }
  scratch s = {all, all + fft, all + 2 * fft, {(gr_lanes *)(all + 2 * fft + largest), NULL}};
  s.power[1] = s.power[0] + bins;
  recording r = recording_of(&f->spec, samples, n);
  int64_t t = gr_feature_frames(&f->spec, n);
  for (int64_t i = 0; i < t; i += FRAMES) {
    int64_t now = t - i < FRAMES ? t - i : FRAMES;
    float *to = out + i * f->spec.mels;
    if (are_silent(f, &r, i)) {
      put_silence(&f->spec, now, to);
      continue;
    }
    window_frames(f, &r, i, t, s.in);
    spectra(f, &s);
    mel_frames(f, &s, (int)now, to);
  }
  finish(&f->spec, out, t, sums);
  free(all), free(sums);
  return GR_OK;
}
