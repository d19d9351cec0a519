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

static gr_complex times(gr_complex a, gr_complex b) {
  return (gr_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static gr_complex plus(gr_complex a, gr_complex b) {
  return (gr_complex){a.re + b.re, a.im + b.im};
}
static gr_complex minus(gr_complex a, gr_complex b) {
  return (gr_complex){a.re - b.re, a.im - b.im};
}

// The transform of t[r] into x[0], x[m], ...; radix 4 is unrolled, others follow the definition.
static void butterfly(const gr_fft *f, int r, const gr_complex *t, gr_complex *x, int m) {
  if (r == 4) {
    gr_complex a = plus(t[0], t[2]), b = minus(t[0], t[2]);
    gr_complex c = plus(t[1], t[3]), d = minus(t[1], t[3]);
    gr_complex rotated = {d.im, -d.re};  // -i d
    x[0] = plus(a, c), x[m] = plus(b, rotated);
    x[2 * m] = minus(a, c), x[3 * m] = minus(b, rotated);
    return;
  }
  int step = f->n / r;
  for (int q = 0; q < r; q++) {
    gr_complex sum = t[0];
    for (int j = 1; j < r; j++) sum = plus(sum, times(t[j], f->roots[(int64_t)j * q % r * step]));
    x[q * m] = sum;
  }
}

// Transforms in[0], in[stride], ... (n of them) into out.
static void run(const gr_fft *f, int level, int n, const gr_complex *in, int stride,
                gr_complex *out, gr_complex *t) {
  if (n == 1) {
    *out = *in;
    return;
  }
  int r = f->factors[level], m = n / r;
  for (int j = 0; j < r; j++) run(f, level + 1, m, in + j * stride, stride * r, out + j * m, t);
  for (int k = 0; k < m; k++) {
    for (int j = 0; j < r; j++) t[j] = times(out[j * m + k], f->roots[j * k * stride]);
    butterfly(f, r, t, out + k, m);
  }
}

void gr_fft_run(const gr_fft *f, const gr_complex *in, gr_complex *out, gr_complex *scratch) {
  run(f, 0, f->n, in, 1, out, scratch);
}
