// comm_sum.c - see comm_sum.h.
#include "runtime/comm_sum.h"
#include "ops/cpu.h"

// Sums are kept for a block of elements at a time, so that each term is read in one run.
enum { BLOCK = 1024 };

#define SUM(name, type)                                                                      \
  static void name(int64_t from, int64_t n, int terms, const void *const *term, void *out) { \
    type sum[BLOCK];                                                                         \
    memcpy(sum, (const type *)term[0] + from, (size_t)n * sizeof(type));                     \
    for (int r = 1; r < terms; r++) {                                                        \
      const type *t = (const type *)term[r] + from;                                          \
      for (int64_t i = 0; i < n; i++) sum[i] += t[i];                                        \
    }                                                                                        \
    memcpy((type *)out + from, sum, (size_t)n * sizeof(type));                               \
  }
SUM(sum_f32, float)
SUM(sum_f64, double)
SUM(sum_i32, uint32_t)  // wraps without being undefined

static void sum_bf16(int64_t from, int64_t n, int terms, const void *const *term, void *out) {
  float sum[BLOCK] = {0};
  for (int r = 0; r < terms; r++)
    for (int64_t i = 0; i < n; i++) {
      float t = (float)gr_get(term[r], GR_BF16, from + i);
      sum[i] = r ? sum[i] + t : t;
    }
  for (int64_t i = 0; i < n; i++) ((uint16_t *)out)[from + i] = gr_bf16(sum[i]);
}

void gr_comm_sum(gr_dtype d, int64_t n, int terms, const void *const *term, void *out) {
  void (*sum)(int64_t, int64_t, int, const void *const *, void *) = d == GR_F32   ? sum_f32
                                                                    : d == GR_F64 ? sum_f64
                                                                    : d == GR_I32 ? sum_i32
                                                                                  : sum_bf16;
  for (int64_t at = 0; at < n; at += BLOCK)
    sum(at, n - at < BLOCK ? n - at : BLOCK, terms, term, out);
}
