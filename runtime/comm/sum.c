// sum.c - sums terms block by block. See sum.h.
#include "runtime/comm/sum.h"
#include "ops/kernels/widen.h"

// Elements that are accumulated at a time, so that each term is read sequentially from the caches.
enum { BLOCK = 1024 };

// Sums elements [begin, begin + n) of the terms into `to`; n <= BLOCK.
#define SUM(name, type)                                                                      \
  static void name(int64_t begin, int64_t n, int terms, const void *const *term, void *to) { \
    type *sum = to;                                                                          \
    memcpy(sum, (const type *)term[0] + begin, (size_t)n * sizeof(type));                    \
    for (int r = 1; r < terms; r++) {                                                        \
      const type *t = (const type *)term[r] + begin;                                         \
      for (int64_t i = 0; i < n; i++) sum[i] = (type)(sum[i] + t[i]);                        \
    }                                                                                        \
  }
SUM(sum_f32, float)
SUM(sum_f64, double)
SUM(sum_i32, uint32_t)  // unsigned, because signed overflow is undefined
SUM(sum_i64, uint64_t)
SUM(sum_u8, uint8_t)

static void sum_narrow(gr_dtype d, int64_t begin, int64_t n, int terms, const void *const *term,
                       void *to) {
  float sum[BLOCK], t[BLOCK];
  gr_widen(d, (const uint16_t *)term[0] + begin, sum, n);
  for (int r = 1; r < terms; r++) {
    gr_widen(d, (const uint16_t *)term[r] + begin, t, n);
    for (int64_t i = 0; i < n; i++) sum[i] += t[i];
  }
  gr_narrow(d, sum, to, n);
}

static void sum_bf16(int64_t begin, int64_t n, int terms, const void *const *term, void *to) {
  sum_narrow(GR_BF16, begin, n, terms, term, to);
}

static void sum_f16(int64_t begin, int64_t n, int terms, const void *const *term, void *to) {
  sum_narrow(GR_F16, begin, n, terms, term, to);
}

typedef void (*sum_fn)(int64_t begin, int64_t n, int terms, const void *const *term, void *to);

static void sum_tree(sum_fn sum, int64_t begin, int64_t n, int terms, const void *const *term,
                     void *to) {
  _Alignas(64) char half[2][BLOCK * sizeof(double)];
  const void *both[] = {half[0], half[1]};
  if (terms <= 2) {
    sum(begin, n, terms, term, to);
    return;
  }
  size_t skip = (size_t)terms / 2;
  sum_tree(sum, begin, n, terms / 2, term, half[0]);
  sum_tree(sum, begin, n, terms - terms / 2, term + skip, half[1]);
  sum(0, n, 2, both, to);
}

void gr_comm_sum(gr_dtype d, bool tree, int64_t n, int terms, const void *const *term, int outs,
                 void *const *out) {
  static const sum_fn sums[] = {
      [GR_F32] = sum_f32, [GR_F64] = sum_f64, [GR_BF16] = sum_bf16, [GR_F16] = sum_f16,
      [GR_I32] = sum_i32, [GR_I64] = sum_i64, [GR_U8] = sum_u8};
  _Alignas(64) char sum[BLOCK * sizeof(double)];
  size_t size = gr_dtypes[d].size;
  for (int64_t begin = 0; begin < n; begin += BLOCK) {
    int64_t some = n - begin < BLOCK ? n - begin : BLOCK;
    if (tree)
      sum_tree(sums[d], begin, some, terms, term, sum);
    else
      sums[d](begin, some, terms, term, sum);
    for (int i = 0; i < outs; i++)
      memcpy((char *)out[i] + (size_t)begin * size, sum, (size_t)some * size);
  }
}
