// narrow.h - the narrow floating-point types, bf16 and f16, which are stored in 16 bits and
// computed with in f32. Conversions are exact to f32; from f32 they round to nearest even, f16 to
// subnormal numbers too; values too large become infinite, and NaN stays NaN.
#pragma once
#include "ops/kernels/fastmath.h"

// The value of a bf16, by its bits.
static inline float gr_float_of_bf16(uint16_t h) { return gr_float_of((uint32_t)h << 16); }

// The bits of the bf16 nearest to f.
static inline uint16_t gr_bf16(float f) {
  uint32_t bits = gr_bits_of(f);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

// The value of an f16, by its bits. The exponent's bias is 112 less than that of f32. Multiplying
// by 2^112 also makes subnormal numbers of f16 normal ones of f32.
static inline float gr_float_of_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
  uint32_t finite = gr_bits_of(gr_float_of(rest) * 0x1p112f);
  uint32_t quiet = rest > 0x0f800000 ? 0x400000 : 0;
  return gr_float_of(sign | (rest >= 0x0f800000 ? rest | 0x7f800000 | quiet : finite));
}

// The bits of the f16 nearest to f.
static inline uint16_t gr_f16(float f) {
  uint32_t bits = gr_bits_of(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  uint32_t normal = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
  // below 2^-14: adding 1/2, an f32 whose last bit is 2^-24, rounds to a multiple of that
  uint32_t subnormal = gr_bits_of(gr_float_of(rest) + 0.5f) - 0x3f000000;
  uint32_t finite = rest < 0x38800000 ? subnormal : normal;
  uint32_t large = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
  return (uint16_t)(sign | (rest >= 0x477ff000 ? large : finite));  // from 65520 on: infinite
}
