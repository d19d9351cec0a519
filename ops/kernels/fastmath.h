// fastmath.h - exp, log, log1p, tanh, sigmoid, erf, sin and cos of floats, in branch-free
// arithmetic that compilers vectorise. Relative error below 1e-6 (tests/ops/test_fastmath.c); NaN
// gives NaN, and overflow gives infinity.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

// Asserts that iterations are independent, also if the result is computed in place.
#ifdef __clang__
#define GR_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#else
#define GR_VECTOR _Pragma("GCC ivdep")
#endif

// Reinterpret the bits of a float.
static inline float gr_float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// The bits of a float; the inverse of gr_float_of.
static inline uint32_t gr_bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

// Cody-Waite range reduction: returns r with x = n ln 2 + r and |r| <= ln 2 / 2. Adding 1.5 * 2^23
// rounds to an integer, which is then in the low bits; ln 2 is subtracted in two parts, of which
// the first has exact products with n.
static inline float gr_exp_reduce(float x, uint32_t *n) {
  const float magic = 12582912.0f;
  float t = x * 1.44269504f + magic, k = t - magic;
  *n = gr_bits_of(t) - gr_bits_of(magic);
  return (x - k * 0.693359375f) + k * 2.12194440e-4f;
}

// exp(r) - 1 for |r| <= ln 2 / 2: the Taylor series to r^7; the remainder is below 6e-9.
static inline float gr_exp_series(float r) {
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  return p * r * r + r;
}

// exp(x), by range reduction; arguments are clamped where the result overflows or is 0.
static inline float gr_exp_f32(float x) {
  uint32_t n;
  x = x > 89 ? 89 : x;
  x = x < -104 ? -104 : x;
  float r = gr_exp_reduce(x, &n);
  uint32_t half = (uint32_t)((int32_t)n >> 1);  // 2^n in two steps: it may be a denormal
  float a = gr_float_of((half + 127) << 23), b = gr_float_of((n - half + 127) << 23);
  return (1 + gr_exp_series(r)) * a * b;
}

// log(x): x = 2^n m with sqrt(1/2) <= m < sqrt(2), and log m = 2 atanh(s), s = (m - 1) / (m + 1),
// by the series to s^9. 0 gives -infinity, negative numbers NaN.
static inline float gr_log_f32(float x) {
  const uint32_t least = 0x3f3504f3;             // sqrt(1/2)
  float up = x < 1.17549435e-38f ? 8388608 : 1;  // 2^23: denormals become normal
  uint32_t bits = gr_bits_of(x * up) - least;
  float n = (float)(((int32_t)bits >> 23) - (int32_t)(gr_bits_of(up) >> 23) + 127),
        m = gr_float_of((bits & 0x7fffff) + least);
  float s = (m - 1) / (m + 1), z = s * s;
  float p = 2.0f / 9;
  p = p * z + 2.0f / 7;
  p = p * z + 2.0f / 5;
  p = p * z + 2.0f / 3;
  float y = n * 0.693359375f + (2 * s + (p * z * s - n * 2.12194440e-4f));
  y = x > 3.40282347e38f ? x : y;
  uint32_t quiet = x == 0 ? 0 : 0x400000;  // else -infinity, by this bit NaN
  return x > 0 ? y : gr_float_of(0xff800000 | quiet);
}

// log(1 + x). What is lost by rounding 1 + x to u is (x - (u - 1)), which adds that / u. 0 keeps
// its sign, -1 gives -infinity, and x below -1 NaN.
static inline float gr_log1p_f32(float x) {
  float u = 1 + x, lost = (x - (u - 1)) / u;
  float y = gr_log_f32(u) + (u > 0 && u <= 3.40282347e38f ? lost : 0);
  return u == 1 ? x : y;
}

// tanh(x) = e / (e + 2) with e = exp(2|x|) - 1, which does not cancel for small x.
static inline float gr_tanh_f32(float x) {
  uint32_t n;
  float z = 2 * fabsf(x);
  z = z > 20 ? 20 : z;
  float r = gr_exp_reduce(z, &n), two_n = gr_float_of((n + 127) << 23);
  float e = gr_exp_series(r) * two_n + (two_n - 1);
  return copysignf(e / (e + 2), x);
}

// The logistic function 1 / (1 + exp(-x)).
static inline float gr_sigmoid_f32(float x) { return 1 / (1 + gr_exp_f32(-x)); }

// erf(x). Below 0.92 an odd polynomial, fitted to 5e-10; above, 1 - exp(-q) with q fitted to
// -log(erfc(x)), to 1e-9. From 4 on the result rounds to 1. Both end in a sum: compilers would fuse
// a product into what the caller adds, in some loops and not in others.
static inline float gr_erf_f32(float x) {
  float u = x * x, a = fabsf(x);
  float p = 8.3571022e-5f;
  p = p * u - 8.1401377e-4f;
  p = p * u + 5.2008601e-3f;
  p = p * u - 2.6859356e-2f;
  p = p * u + 1.12836953e-1f;
  p = p * u - 3.76126338e-1f;
  p = p * u + 0.12837917f;
  a = a > 4 ? 4 : a;
  float q = -1.6129040e-6f;
  q = q * a + 4.5567139e-5f;
  q = q * a - 5.9256638e-4f;
  q = q * a + 4.7392460e-3f;
  q = q * a - 2.6361873e-2f;
  q = q * a + 1.09973119e-1f;
  q = q * a + 6.31942663e-1f;
  q = q * a + 1.13016335f;
  q = q * a - 3.0238048e-4f;
  float large = copysignf(1 - gr_exp_f32(-q), x);
  return a < 0.92f ? x * p + x : large;
}

// sin(x + quarters pi / 2): x is reduced in double to |r| <= pi / 4, with pi / 2 as the sum of two
// numbers, and the series of sine (to r^9) or cosine (to r^8) is taken. The first number has 33
// bits, so that its product with k < 2^20 is exact, whether or not it is fused with the difference
// (Cody, Waite, 1980). Adding 1.5 * 2^52 rounds to an integer. Infinity gives NaN.
static inline float gr_sine_f32(float x, uint64_t quarters) {
  const double magic = 6755399441055744.0;
  double t = (double)x * 0.63661977236758134 + magic, k = t - magic;
  uint64_t bits;
  memcpy(&bits, &t, sizeof bits);
  float r = (float)(((double)x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34), z = r * r;
  float s = 1.0f / 362880, c = 1.0f / 40320;
  s = s * z - 1.0f / 5040;
  s = s * z + 1.0f / 120;
  s = s * z - 1.0f / 6;
  s = s * z * r + r;
  c = c * z - 1.0f / 720;
  c = c * z + 1.0f / 24;
  c = c * z - 0.5f;
  c = c * z + 1;
  uint64_t quadrant = bits + quarters;
  float y = quadrant & 1 ? c : s;
  return quadrant & 2 ? -y : y;
}
// sin(x).
static inline float gr_sin_f32(float x) { return gr_sine_f32(x, 0); }
// cos(x), as the sine a quarter turn further.
static inline float gr_cos_f32(float x) { return gr_sine_f32(x, 1); }
