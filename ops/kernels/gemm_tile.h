// gemm_tile.h - the inner kernel of gemm_plain.c and gemm_packed.c: one tile of c in registers,
// written with the compiler's vector types.
#pragma once
#include "ops/kernels/gemm.h"

// LANES floats in a vector. SUMS accumulators, a row of b and one broadcast element of a fill the
// register file. DEPTH steps of k are done at a time: a tile's part of b then fits the L1 cache.
#if defined(__AVX512F__)
enum { LANES = 16, SUMS = 24, DEPTH = 512 };
#elif defined(__AVX2__)
enum { LANES = 8, SUMS = 12, DEPTH = 256 };
#else
enum { LANES = 4, SUMS = 12, DEPTH = 256 };
#endif
enum { AHEAD = 8 };  // prefetch distance, in rows of b
enum { LINE = 16 };  // floats in a cache line

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float vec_at __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 24")

// Unaligned load and store of a vector.
static inline vec load(const float *p) { return *(const vec_at *)p; }
// A load that stays one instruction: gcc would fold it into each use as a memory operand, and tiles
// of few rows are bound by loads.
static inline vec load_once(const float *p) {
  vec v = load(p);
#if defined(__AVX__)
  __asm__("" : "+v"(v));
#endif
  return v;
}
// Unaligned store; see load.
static inline void store(float *p, vec v) { *(vec_at *)p = v; }

// Strides of an operand: element [i,p] of op(a) is a[i * row + p * col].
typedef struct walk {
  int64_t row, col;
} walk;

// Computes a tile of rows x (cols * LANES) elements over `depth` steps of k. The first `skip`
// columns are not stored: the last tile of a row overlaps its neighbour instead of the edge of c.
INLINE void tile(int rows, int cols, const float *a, walk w, const float *b, int64_t ldb, float *c,
                 int64_t ldc, int64_t depth, bool add, int skip) {
  vec sum[SUMS];
  UNROLL for (int i = 0; i < rows * cols; i++) sum[i] = (vec){0};
  UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch(c + i * ldc, 1);
  for (int64_t p = 0; p < depth; p++, a += w.col, b += ldb) {
    vec row[SUMS];
    UNROLL for (int j = 0; j < cols; j++) row[j] = load_once(b + j * LANES);
    UNROLL for (int j = 0; j < cols * LANES; j += LINE) __builtin_prefetch(b + AHEAD * ldb + j);
    UNROLL for (int i = 0; i < rows; i++) {
      float f = a[i * w.row];
      UNROLL for (int j = 0; j < cols; j++) sum[i * cols + j] += f * row[j];
    }
  }
  UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < cols; j++) {
    float *out = c + i * ldc + j * LANES;
    if (!skip) {
      store(out, add ? load(out) + sum[i * cols + j] : sum[i * cols + j]);
      continue;
    }
    for (int e = skip; e < LANES; e++) out[e] = (add ? out[e] : 0) + sum[i * cols + j][e];
  }
}
