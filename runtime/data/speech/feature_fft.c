// feature_fft.c - see feature_fft.h.
#include "runtime/data/speech/feature_fft.h"
#include <math.h>
#include <stdint.h>

gr_fft gr_fft_make(int n, gr_complex *roots) {
  gr_fft f = {.n = n, .largest = 1, .roots = roots};
  const double turn = 6.283185307179586477;
  for (int k = 0; k < n; k++) roots[k] = (gr_complex){cos(turn * k / n), -sin(turn * k / n)};
  int rest = n;
  for (int p = 4; rest > 1; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
    if (p > 4 && p > rest / p) p = rest;  // the remaining factor is prime
    for (; rest % p == 0; rest /= p) f.factors[f.n_factors++] = p;
  }
  for (int i = 0; i < f.n_factors; i++)
    if (f.factors[i] > f.largest) f.largest = f.factors[i];
  return f;
}

typedef gr_complex_lanes lanes;

static inline void times(const lanes *a, gr_complex b, lanes *y) {
  gr_lanes re = a->re * b.re - a->im * b.im;
  y->im = a->re * b.im + a->im * b.re;
  y->re = re;
}

// The transform of 4 values, unrolled.
static inline void butterfly4(const lanes *t, lanes *x, int m) {
  lanes a = {t[0].re + t[2].re, t[0].im + t[2].im}, b = {t[0].re - t[2].re, t[0].im - t[2].im};
  lanes c = {t[1].re + t[3].re, t[1].im + t[3].im}, d = {t[1].re - t[3].re, t[1].im - t[3].im};
  x[0].re = a.re + c.re, x[0].im = a.im + c.im;
  x[m].re = b.re + d.im, x[m].im = b.im - d.re;  // b - i d
  x[2 * m].re = a.re - c.re, x[2 * m].im = a.im - c.im;
  x[3 * m].re = b.re - d.im, x[3 * m].im = b.im + d.re;
}

// The transform of t[r] into x[0], x[m], ...; radices other than 4 follow the definition.
static void butterfly(const gr_fft *f, int r, const lanes *t, lanes *x, int m) {
  if (r == 4) {
    butterfly4(t, x, m);
    return;
  }
  int step = f->n / r;
  for (int q = 0; q < r; q++) {
    lanes sum = t[0], product;
    for (int j = 1; j < r; j++) {
      times(&t[j], f->roots[(int64_t)j * q % r * step], &product);
      sum.re += product.re, sum.im += product.im;
    }
    x[q * m] = sum;
  }
}

// Transforms in[0], in[stride], ... (n of them) into out.
static void run(const gr_fft *f, int level, int n, const lanes *in, int stride, lanes *out,
                lanes *t) {
  if (n == 1) {
    *out = *in;
    return;
  }
  int r = f->factors[level], m = n / r;
  if (m == 1) {
    for (int j = 0; j < r; j++) t[j] = in[j * stride];
    butterfly(f, r, t, out, 1);
    return;
  }
  for (int j = 0; j < r; j++) run(f, level + 1, m, in + j * stride, stride * r, out + j * m, t);
  for (int k = 0; k < m; k++) {
    for (int j = 0; j < r; j++) times(&out[j * m + k], f->roots[j * k * stride], &t[j]);
    butterfly(f, r, t, out + k, m);
  }
}

void gr_fft_run(const gr_fft *f, const lanes *in, lanes *out, lanes *scratch) {
  run(f, 0, f->n, in, 1, out, scratch);
}
