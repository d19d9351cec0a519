// rng.h - counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC11).
//
// A number depends only on (seed, stream, step, index): it is the same on any number of ranks and
// threads, and there is no state to save. A stream is the hash of a name
// ("dropout:encoder.0", "init:head.weight", "data:order"). All functions are pure.
#pragma once
#include <stdint.h>

typedef struct gr_rng {
  uint64_t seed, stream;  // hashed together into Philox's key
  uint64_t step;          // upper half of the counter
} gr_rng;

// The generator itself: ten rounds over the 128-bit counter (high, low) with a 64-bit key.
void gr_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]);

// A stream of random numbers: the same for the same three arguments, on every machine.
gr_rng gr_rng_make(uint64_t seed, const char *stream, uint64_t step);
// The key: the hash of seed and stream. The counter holds block and step. Two streams collide with
// the probability of a 64-bit hash collision.
uint64_t gr_rng_key(const gr_rng *);
// A block is four words: block b holds those of index 4b to 4b + 3. gr_rng_blocks computes
// consecutive blocks with SIMD.
void gr_rng_block(const gr_rng *, uint64_t block, uint32_t out[4]);
// `out`: 4 words for each block.
void gr_rng_blocks(const gr_rng *, uint64_t first_block, int64_t blocks, uint32_t *out);
// The number of one index.
uint32_t gr_rng_u32(const gr_rng *, uint64_t index);
double gr_rng_uniform(const gr_rng *, uint64_t index);  // [0, 1), 32 random bits
double gr_rng_normal(const gr_rng *, uint64_t index);   // mean 0, deviation 1 (Box-Muller)
uint64_t gr_rng_below(const gr_rng *, uint64_t index, uint64_t n);  // [0, n), n < 2^32
// The numbers of n consecutive indices, equal to those of single calls and several times faster.
void gr_rng_uniforms(const gr_rng *, uint64_t first, int64_t n, double *out);
// As gr_rng_normal gives them.
void gr_rng_normals(const gr_rng *, uint64_t first, int64_t n, double *out);

// The same numbers rounded to floats, several times faster again.
void gr_rng_uniforms_f32(const gr_rng *, uint64_t first, int64_t n, float *out);
// As gr_rng_normal gives them, rounded.
void gr_rng_normals_f32(const gr_rng *, uint64_t first, int64_t n, float *out);

// Fills `items` with a random permutation of 0 to n - 1 (Fisher-Yates).
void gr_rng_shuffle(const gr_rng *, uint32_t *items, uint32_t n);
