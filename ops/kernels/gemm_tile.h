// gemm_tile.h - what our own products are made of: a tile of c in registers, written with vectors
// of the compiler's.
#pragma once
#include "ops/kernels/gemm.h"

// LANES of a vector; SUMS vectors of sums, a row of b, and one element of a fill the registers.
// DEPTH is how much of k is done at a time: a tile's part of b stays in the first-level cache.
#if defined(__AVX512F__)
enum { LANES = 16, SUMS = 24, DEPTH = 512 };
#elif defined(__AVX2__)
enum { LANES = 8, SUMS = 12, DEPTH = 256 };
#else
enum { LANES = 4, SUMS = 12, DEPTH = 256 };
#endif
enum { AHEAD = 8 };  // rows of b asked for before they are needed
enum { LINE = 16 };  // elements in a line of the cache

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float vec_at __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 24")

static inline vec load(const float *p) { return *(const vec_at *)p; }
// A load that is done once: gcc would fold it into each of its uses, and loads are what tiles of
// few rows wait for.
static inline vec load_once(const float *p) {
  vec v = load(p);
#if defined(__AVX__)
  __asm__("" : "+v"(v));
#endif
  return v;
}
static inline void store(float *p, vec v) { *(vec_at *)p = v; }

// How an operand is walked: element [i,p] of op(a) is a[i * row + p * col].
typedef struct walk {
  int64_t row, col;
} walk;

// One tile of rows x (cols vectors) over `depth` of k. The first `skip` columns are not stored:
// the last tile of a row reaches back over its neighbour rather than over the edge.
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
    float *at = c + i * ldc + j * LANES;
    if (!skip) {
      store(at, add ? load(at) + sum[i * cols + j] : sum[i * cols + j]);
      continue;
    }
    for (int e = skip; e < LANES; e++) at[e] = (add ? at[e] : 0) + sum[i * cols + j][e];
  }
}
