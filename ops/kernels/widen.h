// widen.h - arrays of bf16 and f16 (narrow.h) as f32, and kernels for f32 on narrow operands.
#pragma once
#include "ops/kernels/cpu.h"

// Converts n elements of a narrow type to f32.
void gr_widen(gr_dtype, const void *source, float *target, int64_t n);
// Rounds n numbers to a narrow type.
void gr_narrow(gr_dtype, const float *source, void *target, int64_t n);
// gr_widen on all threads of the launch.
void gr_widen_all(const gr_launch *, gr_dtype, const void *source, float *target, int64_t n);
// gr_narrow on all threads of the launch.
void gr_narrow_all(const gr_launch *, gr_dtype, const float *source, void *target, int64_t n);

// Rows of so many columns, the narrow ones `ld` elements apart, the others after each other.
void gr_widen_rows(const gr_launch *, gr_dtype, const uint16_t *source, int64_t ld, int64_t rows,
                   int64_t columns, float *target);
// As gr_widen_rows, back.
void gr_narrow_rows(const gr_launch *, gr_dtype, const float *source, int64_t rows, int64_t columns,
                    int64_t ld, uint16_t *target);

// Which operands of a kernel have samples as their first axis, a bit for each; and whether results
// are sums over samples, of a narrow type, or have them too.
typedef struct gr_samples {
  unsigned operands;
  bool sums;
} gr_samples;
// All operands, of a kernel that computes each sample by itself.
static const gr_samples gr_each = {~0U, false}, gr_together = {0, false};
// The same of a kernel of rows along the last axis: a vector is one row, which is not divided.
static inline gr_samples gr_samples_of_rows(const gr_type *x) {
  return x->rank > 1 ? gr_each : gr_together;
}
// Runs a kernel for f32 on operands and results of a narrow type, which are converted in scratch
// memory, a part of the samples at a time, a tile (gr_launch.whole); the kernel's own scratch
// follows.
gr_status gr_run_widened(const gr_launch *, gr_samples, gr_kernel);
// Bytes of scratch memory of gr_run_widened, where the kernel needs `bytes` itself.
size_t gr_widened_scratch(const gr_op_call *, gr_samples, size_t bytes);
// gr_op.scratch of kernels of each sample that need none themselves.
size_t gr_each_scratch(const gr_op_call *);
// The samples of a part of such an operand; all of them if it is not narrow.
int64_t gr_widened_samples(const gr_type *);
// The kernel for operand 0's dtype, f32 or a narrow one; NULL for others.
static inline gr_kernel gr_by_width(const gr_op_call *s, gr_kernel f32, gr_kernel narrow) {
  gr_dtype d = s->in[0].dtype;
  return d == GR_F32 ? f32 : gr_is_narrow(d) ? narrow : NULL;
}
