// rng.c - Philox4x32-10, one block at a time and vectorised, and distributions (rng.h).
#include "base/rng.h"
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include "base/hash.h"

gr_rng gr_rng_make(uint64_t seed, const char *stream, uint64_t step) {
  assert(stream);
  return (gr_rng){.seed = seed, .stream = gr_hash_text(stream), .step = step};
}

uint64_t gr_rng_key(const gr_rng *r) {
  return gr_hash_bytes(r->stream ^ GR_HASH_START, &r->seed, sizeof r->seed);
}

// Philox's constants: the multipliers of a round, and the Weyl increments of the key's halves.
enum { ROUNDS = 10 };
static const uint32_t times[2] = {0xD2511F53, 0xCD9E8D57}, more[2] = {0x9E3779B9, 0xBB67AE85};

void gr_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
  uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t p0 = (uint64_t)times[0] * c0, p1 = (uint64_t)times[1] * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
    k0 += more[0], k1 += more[1];
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

void gr_rng_block(const gr_rng *r, uint64_t block, uint32_t out[4]) {
  gr_philox(gr_rng_key(r), block, r->step, out);
}

// ---- Vectorised: each 64-bit lane holds one block's word in its lower half -----------------

enum { LANES = 4 };
typedef uint64_t lanes __attribute__((vector_size(LANES * 8)));

static inline lanes all(uint64_t x) { return (lanes){x, x, x, x}; }

// Product of the lower halves. The intrinsic is needed: compilers do not reduce the masked
// multiplication to the one instruction.
static inline lanes product(lanes a, lanes b) {
#if defined(__AVX2__)
  return (lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
  return (a & UINT32_MAX) * (b & UINT32_MAX);
#endif
}

// Computes LANES blocks. The upper halves of c hold garbage, which `product` ignores.
static inline void philox_lanes(const lanes key[ROUNDS][2], lanes c[4]) {
  const lanes m0 = all(times[0]), m1 = all(times[1]);
#pragma GCC unroll 10
  for (int round = 0; round < ROUNDS; round++) {
    lanes p0 = product(c[0], m0), p1 = product(c[2], m1);
    c[0] = (p1 >> 32) ^ c[1] ^ key[round][0], c[1] = p1;
    c[2] = (p0 >> 32) ^ c[3] ^ key[round][1], c[3] = p0;
  }
}

void gr_rng_blocks(const gr_rng *r, uint64_t first_block, int64_t blocks, uint32_t *out) {
  assert(blocks >= 0);
  uint64_t key = gr_rng_key(r);
  lanes keys[ROUNDS][2];
  for (uint32_t round = 0; round < ROUNDS; round++) {
    keys[round][0] = all((uint32_t)key + round * more[0]);
    keys[round][1] = all((uint32_t)(key >> 32) + round * more[1]);
  }
  int64_t b = 0;
  for (; b + LANES <= blocks; b += LANES) {
    lanes block = all(first_block + (uint64_t)b) + (lanes){0, 1, 2, 3};
    lanes c[4] = {block, block >> 32, all(r->step), all(r->step >> 32)};
    philox_lanes(keys, c);
    lanes first = (c[0] & UINT32_MAX) | c[1] << 32, last = (c[2] & UINT32_MAX) | c[3] << 32;
    for (int i = 0; i < LANES; i++) {
      uint64_t four[2] = {first[i], last[i]};
      memcpy(out + 4 * (b + i), four, sizeof four);
    }
  }
  for (; b < blocks; b++) gr_philox(key, first_block + (uint64_t)b, r->step, out + 4 * b);
}

uint32_t gr_rng_u32(const gr_rng *r, uint64_t index) {
  uint32_t w[4];
  gr_rng_block(r, index / 4, w);
  return w[index % 4];
}

double gr_rng_uniform(const gr_rng *r, uint64_t index) {
  return gr_rng_u32(r, index) * (1.0 / 4294967296.0);
}

// Box-Muller on the first two words of a block. Adding 0.5 keeps the logarithm's argument above 0.
static void two_normals(const uint32_t w[4], double out[2]) {
  double u = (w[0] + 0.5) / 4294967296.0, v = w[1] / 4294967296.0;
  double angle = 6.283185307179586477 * v, radius = sqrt(-2.0 * log(u));
  out[0] = radius * cos(angle), out[1] = radius * sin(angle);
}

double gr_rng_normal(const gr_rng *r, uint64_t index) {
  uint32_t w[4];
  double two[2];
  gr_rng_block(r, index / 2, w);
  two_normals(w, two);
  return two[index % 2];
}

enum { BLOCKS = 64 };  // computed per call of gr_rng_blocks

void gr_rng_uniforms(const gr_rng *r, uint64_t first, int64_t n, double *out) {
  assert(n >= 0);
  uint32_t w[4 * BLOCKS];
  int64_t skip = (int64_t)(first % 4), got;
  for (uint64_t block = first / 4; n > 0; block += BLOCKS, skip = 0, out += got, n -= got) {
    got = n < 4 * BLOCKS - skip ? n : 4 * BLOCKS - skip;
    gr_rng_blocks(r, block, (skip + got + 3) / 4, w);
    for (int64_t i = 0; i < got; i++) out[i] = w[skip + i] * (1.0 / 4294967296.0);
  }
}

void gr_rng_normals(const gr_rng *r, uint64_t first, int64_t n, double *out) {
  assert(n >= 0);
  uint32_t w[4 * BLOCKS];
  double x[2 * BLOCKS];
  int64_t skip = (int64_t)(first % 2), got;
  for (uint64_t block = first / 2; n > 0; block += BLOCKS, skip = 0, out += got, n -= got) {
    got = n < 2 * BLOCKS - skip ? n : 2 * BLOCKS - skip;
    int64_t blocks = (skip + got + 1) / 2;
    gr_rng_blocks(r, block, blocks, w);
    for (int64_t b = 0; b < blocks; b++) two_normals(w + 4 * b, x + 2 * b);
    memcpy(out, x + skip, sizeof *out * (size_t)got);
  }
}

// ---- As floats --------------------------------------------------------------------------------

// The same numbers as above, rounded. Arithmetic that compilers vectorise gives each with an error
// of less than `slack`. Where that leaves open to which float it rounds, about once in a million,
// the block is computed as above.

static inline uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// log(x) of a normal number: x = 2^n m with sqrt(1/2) <= m < sqrt(2), and log m = 2 atanh(s), with
// s = (m - 1) / (m + 1), by the series to s^19, whose rest is below 1e-16 of it. The exponent
// becomes a number by its bits, behind those of 2^52.
static inline double log_of(double x) {
  const uint64_t least = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000, magic = 0x4330000000000000;
  uint64_t bits = bits_of(x) + (one - least);
  double n = double_of((bits >> 52) | magic) - (4503599627370496.0 + 1023);
  double m = double_of((bits & 0xfffffffffffff) + least);
  double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1;
  return n * 0.69314718055994531 + 2 * s * p;
}

// Conversions of signed words are one instruction.
static inline double radius_of(uint32_t w) {
  double u = (double)(int32_t)(w ^ 0x80000000) + 2147483648.5;
  return sqrt(-2 * log_of(u * (1 / 4294967296.0)));
}

// Cosine and sine of 2 pi w / 2^32: of the angle r to the nearest quarter, |r| <= pi / 4, by
// Taylor's series, whose rests are below 1e-16.
static inline void direction_of(uint32_t w, double *cosine, double *sine) {
  uint64_t quarter = (w + 0x20000000) >> 30;
  double r =
      (double)(int32_t)(w - ((uint32_t)quarter << 30)) * (6.283185307179586477 / 4294967296.0);
  double z = r * r, s = -1.0 / 1307674368000, c = 1.0 / 20922789888000;
  s = s * z + 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = s * z * r + r;
  c = c * z - 1.0 / 87178291200;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  c = c * z + 1;
  double x = quarter & 1 ? s : c, y = quarter & 1 ? c : s;
  *cosine = double_of(bits_of(x) ^ (quarter + 1) >> 1 << 63);
  *sine = double_of(bits_of(y) ^ quarter >> 1 << 63);
}

// What becomes of the words of up to BLOCKS blocks: words 0 and 1, and what is computed of them.
typedef struct normals {
  uint32_t word[2][BLOCKS];
  double radius[BLOCKS], direction[2][BLOCKS];
  float near[2][BLOCKS];
} normals;

// Rounds n numbers; whether one may be to another float than the exact number is.
static inline bool round_all(const double *direction, const double *radius, int64_t n, float *out) {
  const double slack = 1e-14;  // of the radius: five times the errors of these and of two_normals
  uint32_t unsure = 0;
  for (int64_t k = 0; k < n; k++) {
    double x = direction[k] * radius[k], error = slack * radius[k];
    float least = (float)(x - error), most = (float)(x + error);
    uint32_t bits, other;
    memcpy(&bits, &least, sizeof bits);
    memcpy(&other, &most, sizeof other);
    out[k] = least, unsure |= bits ^ other;
  }
  return unsure;
}

// Two floats of each of n blocks.
static void normals_of(const uint32_t *w, int64_t n, float *out) {
  normals x;
  double exact[2];
  for (int64_t k = 0; k < n; k++) x.word[0][k] = w[4 * k], x.word[1][k] = w[4 * k + 1];
  for (int64_t k = 0; k < n; k++) x.radius[k] = radius_of(x.word[0][k]);
  for (int64_t k = 0; k < n; k++)
    direction_of(x.word[1][k], x.direction[0] + k, x.direction[1] + k);
  bool unsure = round_all(x.direction[0], x.radius, n, x.near[0]);
  unsure |= round_all(x.direction[1], x.radius, n, x.near[1]);
  for (int64_t k = 0; k < n; k++) out[2 * k] = x.near[0][k], out[2 * k + 1] = x.near[1][k];
  for (int64_t k = 0; unsure && k < n; k++) {
    two_normals(w + 4 * k, exact);
    out[2 * k] = (float)exact[0], out[2 * k + 1] = (float)exact[1];
  }
}

void gr_rng_normals_f32(const gr_rng *r, uint64_t first, int64_t n, float *out) {
  assert(n >= 0);
  uint32_t w[4 * BLOCKS];
  float pairs[2 * BLOCKS];
  int64_t skip = (int64_t)(first % 2), got;
  for (uint64_t block = first / 2; n > 0; block += BLOCKS, skip = 0, out += got, n -= got) {
    got = n < 2 * BLOCKS - skip ? n : 2 * BLOCKS - skip;
    int64_t blocks = (skip + got + 1) / 2;
    gr_rng_blocks(r, block, blocks, w);
    normals_of(w, blocks, pairs);
    memcpy(out, pairs + skip, sizeof *out * (size_t)got);
  }
}

void gr_rng_uniforms_f32(const gr_rng *r, uint64_t first, int64_t n, float *out) {
  assert(n >= 0);
  uint32_t w[4 * BLOCKS];
  int64_t skip = (int64_t)(first % 4), got;
  for (uint64_t block = first / 4; n > 0; block += BLOCKS, skip = 0, out += got, n -= got) {
    got = n < 4 * BLOCKS - skip ? n : 4 * BLOCKS - skip;
    gr_rng_blocks(r, block, (skip + got + 3) / 4, w);
    for (int64_t i = 0; i < got; i++) out[i] = (float)w[skip + i] * (1.0F / 4294967296.0F);
  }
}

uint64_t gr_rng_below(const gr_rng *r, uint64_t index, uint64_t n) {
  assert(n >= 1 && n <= UINT32_MAX);
  return ((uint64_t)gr_rng_u32(r, index) * n) >> 32;
}

void gr_rng_shuffle(const gr_rng *r, uint32_t *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) items[i] = i;
  for (uint32_t i = n; i > 1; i--) {
    uint32_t j = (uint32_t)gr_rng_below(r, i, i), swap = items[i - 1];
    items[i - 1] = items[j], items[j] = swap;
  }
}
