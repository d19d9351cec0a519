// cpu.h - helpers of CPU kernels: element access by dtype, and the thread pool.
#pragma once
#include <string.h>
#include "ir/op.h"
#include "ops/kernels/narrow.h"

// Element i of an array of that dtype, as a double.
static inline double gr_get(const void *p, gr_dtype d, int64_t i) {
  if (d == GR_F32) return (double)((const float *)p)[i];
  if (d == GR_F64) return ((const double *)p)[i];
  if (d == GR_I32) return (double)((const int32_t *)p)[i];
  if (d == GR_I64) return (double)((const int64_t *)p)[i];
  if (d == GR_U8) return (double)((const uint8_t *)p)[i];
  uint16_t bits = ((const uint16_t *)p)[i];
  return (double)(d == GR_F16 ? gr_float_of_f16(bits) : gr_float_of_bf16(bits));
}

// Stores f, converted to the dtype, as element i.
static inline void gr_put(void *p, gr_dtype d, int64_t i, double f) {
  if (d == GR_F32)
    ((float *)p)[i] = (float)f;
  else if (d == GR_F64)
    ((double *)p)[i] = f;
  else if (d == GR_I32)
    ((int32_t *)p)[i] = (int32_t)f;
  else if (d == GR_I64)
    ((int64_t *)p)[i] = (int64_t)f;
  else if (d == GR_U8)
    ((uint8_t *)p)[i] = (uint8_t)(int64_t)f;  // modulo 256
  else if (d == GR_F16)
    ((uint16_t *)p)[i] = gr_f16((float)f);
  else
    ((uint16_t *)p)[i] = gr_bf16((float)f);
}

#define IN(k, i) gr_get(l->in[k], l->in_type[k].dtype, i)
#define OUT(k, i, f) gr_put(l->out[k], l->out_type[k].dtype, i, f)

// The global (row-major) index of element i of this rank's part of output k.
int64_t gr_global_index(const gr_launch *, int k, int64_t i);

// A length that data or a model give, clamped to [0, most]: nothing reads or writes out of bounds
// by a wrong one (docs/graph-language.md, "Indices and lengths").
static inline int64_t gr_clamp_length(int64_t n, int64_t most) {
  return n < 0 ? 0 : n < most ? n : most;
}

// Copies `rows` rows of `bytes` each, on all threads; consecutive rows start `to_step` and
// `from_step` bytes apart. The two memories do not overlap.
void gr_copy_rows(const gr_launch *, void *target, int64_t to_step, const void *source,
                  int64_t from_step, int64_t bytes, int64_t rows);
// gr_op.cpu of ops whose result has the bytes of operand 0.
gr_status gr_copy_all(const gr_launch *);

// A rank's thread pool: implemented by the runtime (runtime/device/threads.c). Without one (NULL
// context) kernels run on the calling thread.
typedef struct gr_cpu gr_cpu;
typedef void (*gr_part)(void *arg, int64_t begin, int64_t end);
struct gr_cpu {
  int threads;
  // Calls part on pieces of [0, n), each of at least `grain` (the last may be less), on all
  // threads, and returns when all are done. Pieces start at multiples of grain, so a kernel
  // whose pieces do not share outputs gives the same bytes on any number of threads.
  void (*parallel)(gr_cpu *, int64_t n, int64_t grain, gr_part part, void *arg);
};
// Runs part on [0, n) through the launch's pool; without threads it is one call, part(arg, 0, n).
void gr_parallel(const gr_launch *, int64_t n, int64_t grain, gr_part part, void *arg);
