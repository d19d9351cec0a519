// lmu.c - see lmu.h. The exponential is by scaling and squaring with the Pade approximant of
// degree 13 (Higham, "The scaling and squaring method for the matrix exponential revisited",
// SIAM J. Matrix Anal. Appl. 26, 2005).
#include "ops/lmu.h"
#include <math.h>
#include <string.h>

enum { SQUARES = 8 };  // matrices of working memory

static size_t size_of(int64_t n) { return (size_t)(n * n); }

size_t gr_lmu_scratch(int64_t order) { return SQUARES * size_of(order + 1); }

static void product(int64_t n, const double *restrict x, const double *restrict y,
                    double *restrict z) {
  memset(z, 0, sizeof *z * size_of(n));
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < n; j++) z[i * n + j] += x[i * n + k] * y[k * n + j];
}

// Solves p x = q in place of q, by elimination with row exchanges; p is used up.
static void solve(int64_t n, double *p, double *q) {
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t i = c + 1; i < n; i++)
      if (fabs(p[i * n + c]) > fabs(p[best * n + c])) best = i;
    for (int64_t j = 0; j < n && best != c; j++) {
      double swap = p[c * n + j];
      p[c * n + j] = p[best * n + j], p[best * n + j] = swap;
      swap = q[c * n + j];
      q[c * n + j] = q[best * n + j], q[best * n + j] = swap;
    }
    for (int64_t i = c + 1; i < n; i++) {
      double f = p[i * n + c] / p[c * n + c];
      for (int64_t j = c; j < n; j++) p[i * n + j] -= f * p[c * n + j];
      for (int64_t j = 0; j < n; j++) q[i * n + j] -= f * q[c * n + j];
    }
  }
  for (int64_t c = n; c--;)
    for (int64_t j = 0; j < n; j++) {
      double s = q[c * n + j];
      for (int64_t k = c + 1; k < n; k++) s -= p[c * n + k] * q[k * n + j];
      q[c * n + j] = s / p[c * n + c];
    }
}

// The largest sum of a column's magnitudes.
static double norm(int64_t n, const double *x) {
  double most = 0;
  for (int64_t j = 0; j < n; j++) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += fabs(x[i * n + j]);
    most = fmax(most, s);
  }
  return most;
}

// The even half v (or, times x, the odd half u) of the approximant's numerator: b[first], b[first
// + 2], ... times the powers x^0, x^2, ... x^12, the upper three by way of x^6.
static void half(int64_t n, const double *b, int first, double *const power[4], double *work,
                 double *out) {
  size_t count = size_of(n);
  for (size_t i = 0; i < count; i++)
    work[i] =
        b[first + 8] * power[1][i] + b[first + 10] * power[2][i] + b[first + 12] * power[3][i];
  product(n, power[3], work, out);
  for (size_t i = 0; i < count; i++)
    out[i] += b[first + 2] * power[1][i] + b[first + 4] * power[2][i] + b[first + 6] * power[3][i];
  for (int64_t i = 0; i < n; i++) out[i * n + i] += b[first];
}

// exp(m[0]) in m[0], with seven more squares of working memory behind it.
static void exponential(int64_t n, double *memory) {
  static const double b[15] = {64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1,
                               0};
  double *m[SQUARES];
  for (int k = 0; k < SQUARES; k++) m[k] = memory + size_of(n) * (size_t)k;
  int halvings = 0;
  for (double least = norm(n, m[0]); least > 5.37; least /= 2) halvings++;
  for (size_t i = 0; i < size_of(n); i++) m[0][i] = ldexp(m[0][i], -halvings);
  double *const power[4] = {NULL, m[1], m[2], m[3]};
  product(n, m[0], m[0], m[1]);
  product(n, m[1], m[1], m[2]);
  product(n, m[1], m[2], m[3]);
  half(n, b, 0, power, m[4], m[5]);
  half(n, b, 1, power, m[4], m[6]);
  product(n, m[0], m[6], m[4]);
  for (size_t i = 0; i < size_of(n); i++) {
    double u = m[4][i], v = m[5][i];
    m[0][i] = v + u, m[1][i] = v - u;
  }
  solve(n, m[1], m[0]);
  for (; halvings; halvings--) {
    product(n, m[0], m[0], m[1]);
    memcpy(m[0], m[1], sizeof(double) * size_of(n));
  }
}

const double *gr_lmu_held(int64_t order, double theta, double *scratch) {
  int64_t n = order + 1;
  memset(scratch, 0, sizeof *scratch * size_of(n));
  for (int64_t i = 0; i < order; i++) {
    double r = (double)(2 * i + 1) / theta;
    for (int64_t j = 0; j < order; j++) scratch[i * n + j] = i < j || (i - j) % 2 == 0 ? -r : r;
    scratch[i * n + order] = i % 2 ? -r : r;
  }
  exponential(n, scratch);
  return scratch;
}
