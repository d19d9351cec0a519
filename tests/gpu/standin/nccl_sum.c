// nccl_sum.c - the numbers of the stand-in NCCL: their sizes, and reductions in the order of ranks.
#include "tests/gpu/standin/nccl_sum.h"
#include <nccl.h>
#include <stdint.h>
#include "tests/gpu/standin/standin.h"

size_t standin_nccl_size(int t) {
  return t == ncclInt8 || t == ncclUint8                         ? 1
         : t == ncclFloat16 || t == ncclBfloat16                 ? 2
         : t == ncclInt32 || t == ncclUint32 || t == ncclFloat32 ? 4
         : t == ncclInt64 || t == ncclUint64 || t == ncclFloat64 ? 8
                                                                 : 0;
}
#define TYPES(X)          \
  X(ncclInt8, int8_t)     \
  X(ncclUint8, uint8_t)   \
  X(ncclInt32, int32_t)   \
  X(ncclUint32, uint32_t) \
  X(ncclInt64, int64_t) X(ncclUint64, uint64_t) X(ncclFloat32, float) X(ncclFloat64, double)
static double get(const void *p, size_t i, int t) {  // 64-bit integers: exact below 2^53
  switch (t) {
#define GET(e, T) \
  case e:         \
    return (double)((const T *)p)[i];
    TYPES(GET)
    case ncclFloat16:
      return standin_f16(((const uint16_t *)p)[i]);
    default:
      return standin_bf16(((const uint16_t *)p)[i]);
  }
}
static void store(void *p, size_t i, int t, double v) {
  switch (t) {
#define STORE(e, T)     \
  case e:               \
    ((T *)p)[i] = (T)v; \
    return;
    TYPES(STORE)
    case ncclFloat16:
      ((uint16_t *)p)[i] = standin_to_f16((float)v);
      return;
    default:
      ((uint16_t *)p)[i] = standin_to_bf16((float)v);
  }
}
void standin_nccl_reduce(void *to, const char *const *ranks, int n_ranks, size_t first, size_t n,
                         int type, int op) {
  for (size_t i = 0; i < n; i++) {
    double a = get(ranks[0], first + i, type);
    for (int r = 1; r < n_ranks; r++) {
      double v = get(ranks[r], first + i, type);
      a = op == ncclProd  ? a * v
          : op == ncclMax ? (v > a ? v : a)
          : op == ncclMin ? (v < a ? v : a)
                          : a + v;
      if (type == ncclFloat32) a = (float)a;
    }
    store(to, i, type, op == ncclAvg ? a / n_ranks : a);
  }
}
