// rng.c - see rng.h.
#include "base/rng.h"
#include <math.h>
#include "base/hash.h"

gr_rng gr_rng_make(uint64_t seed, const char *stream, uint64_t step) {
  return (gr_rng){.seed = seed, .stream = gr_hash_text(stream), .step = step};
}

// The key holds seed and stream; the counter holds block and step. Distinct streams differ in
// the key with the odds of a 64-bit hash.
static uint64_t key_of(const gr_rng *r) {
  return gr_hash_bytes(r->stream ^ GR_HASH_START, &r->seed, sizeof r->seed);
}

void gr_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
  uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = UINT64_C(0xD2511F53) * c0, p1 = UINT64_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

void gr_rng_block(const gr_rng *r, uint64_t block, uint32_t out[4]) {
  gr_philox(key_of(r), block, r->step, out);
}

// As gr_rng_block, written so that compilers work on many blocks at once: the rounds are unrolled,
// and every word lies in the lower half of a 64-bit lane, where the products come from and go to.
void gr_rng_blocks(const gr_rng *r, uint64_t from, int64_t blocks, uint32_t *out) {
  const uint64_t low = UINT32_MAX, key = key_of(r), step = r->step;
  for (int64_t b = 0; b < blocks; b++) {
    uint64_t block = from + (uint64_t)b, k0 = key & low, k1 = key >> 32;
    uint64_t c0 = block, c1 = block >> 32, c2 = step, c3 = step >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
      uint64_t p0 = UINT64_C(0xD2511F53) * (c0 & low), p1 = UINT64_C(0xCD9E8D57) * (c2 & low);
      c0 = (p1 >> 32) ^ c1 ^ k0, c1 = p1;
      c2 = (p0 >> 32) ^ c3 ^ k1, c3 = p0;
      k0 = (k0 + 0x9E3779B9) & low, k1 = (k1 + 0xBB67AE85) & low;
    }
    out[4 * b] = (uint32_t)c0, out[4 * b + 1] = (uint32_t)c1;
    out[4 * b + 2] = (uint32_t)c2, out[4 * b + 3] = (uint32_t)c3;
  }
}

uint32_t gr_rng_u32(const gr_rng *r, uint64_t index) {
  uint32_t w[4];
  gr_rng_block(r, index / 4, w);
  return w[index % 4];
}

double gr_rng_uniform(const gr_rng *r, uint64_t index) {
  return gr_rng_u32(r, index) * (1.0 / 4294967296.0);
}

double gr_rng_normal(const gr_rng *r, uint64_t index) {
  uint32_t w[4];
  gr_rng_block(r, index / 2, w);
  double u = (w[0] + 0.5) / 4294967296.0, v = w[1] / 4294967296.0;
  double angle = 6.283185307179586477 * v, radius = sqrt(-2.0 * log(u));
  return radius * (index % 2 ? sin(angle) : cos(angle));
}

uint64_t gr_rng_below(const gr_rng *r, uint64_t index, uint64_t n) {
  return ((uint64_t)gr_rng_u32(r, index) * n) >> 32;
}

void gr_rng_shuffle(const gr_rng *r, uint32_t *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) items[i] = i;
  for (uint32_t i = n; i > 1; i--) {
    uint32_t j = (uint32_t)gr_rng_below(r, i, i), swap = items[i - 1];
    items[i - 1] = items[j], items[j] = swap;
  }
}
