// rng.h - random numbers by counter: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC11).
//
// A number is a function of (seed, stream, step, index) and of nothing else: the same on any
// number of ranks and threads, and there is no state to save. A stream is the hash of a name
// ("dropout:encoder.0", "init:head.weight", "data:order").
#pragma once
#include <stdint.h>

typedef struct gr_rng {
  uint64_t seed, stream;  // the key mixes both
  uint64_t step;
} gr_rng;

// The bare generator: ten rounds over a 128-bit counter under a 64-bit key.
void gr_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]);

gr_rng gr_rng_make(uint64_t seed, const char *stream, uint64_t step);
void gr_rng_block(const gr_rng *, uint64_t block, uint32_t out[4]);  // words 4*block ...
// Blocks from, from + 1, ...: many at a time, for kernels.
void gr_rng_blocks(const gr_rng *, uint64_t from, int64_t blocks, uint32_t *out);
uint32_t gr_rng_u32(const gr_rng *, uint64_t index);
double gr_rng_uniform(const gr_rng *, uint64_t index);  // [0, 1), 32 bits
double gr_rng_normal(const gr_rng *, uint64_t index);   // mean 0, deviation 1 (Box-Muller)
// Of n indices from one on: the same numbers, several times as fast.
void gr_rng_uniforms(const gr_rng *, uint64_t from, int64_t n, double *out);
void gr_rng_normals(const gr_rng *, uint64_t from, int64_t n, double *out);
uint64_t gr_rng_below(const gr_rng *, uint64_t index, uint64_t n);  // 0 .. n-1, n < 2^32

// A permutation of 0 .. n-1 (Fisher and Yates), drawn from the stream.
void gr_rng_shuffle(const gr_rng *, uint32_t *items, uint32_t n);
