// reduce.h - reductions over axes, shared by sum, mean and reduce_max.
#pragma once
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"

typedef struct gr_reduce_axes {
  gr_ints axes;     // the axes to reduce
  int64_t keepdim;  // whether reduced axes are kept, with size 1
} gr_reduce_axes;

#define GR_AXES_ATTRS                                                                              \
  {                                                                                                \
    GR_AXIS(gr_reduce_axes, axes, GR_ATTR_INTS, NULL, "the axes to reduce"),                       \
        GR_ATTR(gr_reduce_axes, keepdim, GR_ATTR_BOOL, "false", "keep reduced axes, with size 1"), \
    {                                                                                              \
      0                                                                                            \
    }                                                                                              \
  }

// Whether an axis is reduced.
static inline bool gr_reduce_axes_contains(const gr_reduce_axes *a, int d) {
  for (int64_t i = 0; i < a->axes.n; i++)
    if (a->axes.items[i] == d) return true;
  return false;
}
bool gr_reduces_rows(const gr_op_call *);  // whether the last axis is reduced, and no other
// Writes the index notation, "abc->ac"; whole: reduced axes may not be sharded ("aBc->ac").
void gr_reduce_index_spec(const gr_op_call *, bool whole, char buf[128]);
gr_status gr_reduce_infer(gr_op_call *);  // sets the type of the result
gr_val gr_reduce_broadcast_back(gr_builder *, const gr_reduce_axes *, gr_val y,
                                const gr_type *x);  // back to x

// Writes the reduction as that node of ONNX.
void gr_reduce_onnx(gr_onnx_call *, const char *node);

// An input viewed as [outer, n, inner], which is reduced over n.
typedef struct gr_block {
  int64_t outer, n, inner;
} gr_block;
// Sets *out to that view of x; false: the reduced axes are not adjacent.
bool gr_reduce_block(const gr_reduce_axes *, const gr_type *x, gr_block *out);

// The index in x of the k-th element that is reduced into output o.
int64_t gr_reduce_term(const gr_reduce_axes *, const gr_type *x, int64_t o, int64_t k);

// The reference kernel: y = factor * (left fold of x over the axes, from `start`), in double.
void gr_reduce(const gr_launch *, double start, double (*fold)(double sum, double x),
               double factor);

// One of the runs of a reduction: x[outer, n, inner] is reduced over n to y[outer, inner], which is
// multiplied by `factor`. x is operand 0 or what the run before has made, y the result or what the
// next one reads; of sums, what is between is double.
typedef struct gr_reduce_run {
  gr_block b;
  const void *x;
  void *y;
  bool is_first, is_last;
  double factor;
  gr_dtype dtype;  // of operand 0 and the result: f32, or of sums narrow
} gr_reduce_run;
typedef struct gr_reducer {
  void (*run)(const gr_launch *, const gr_reduce_run *);
  size_t (*scratch)(gr_block);  // its bytes, which are a launch's first; NULL: none
} gr_reducer;
extern const gr_reducer gr_sums;
// Reduces operand 0 over the axes of the launch's gr_reduce_axes: neighbours in one run, the
// outermost first.
void gr_reduce_runs(const gr_launch *, const gr_reducer *, double factor);
// Bytes of scratch memory that gr_reduce_runs needs.
size_t gr_reduce_scratch(const gr_reduce_axes *, const gr_type *x, const gr_reducer *);
size_t gr_sums_scratch(const gr_op_call *);  // of an op that is such a sum

// y[outer, inner] = factor * sum over n of x[outer, n, inner]. Sums are formed in blocks whose
// bounds depend on the sizes only, hence equal on any number of threads, and added in double.
void gr_sum_block(const gr_launch *, gr_block, const float *x, float *y, double factor);
// Bytes of scratch memory that gr_sum_block needs.
size_t gr_sum_scratch(gr_block);

// On a GPU: result 0 = factor * (fold of `term` of operand 0 over the axes), "sum" or "max", where
// term is an expression of v, the element.
void gr_gpu_reduce(gr_gpu_call *, const gr_reduce_axes *, const char *fold, const char *term,
                   double factor);
// The same of operand `in` to result `out`.
void gr_gpu_reduce_operand(gr_gpu_call *, int in, int out, const gr_reduce_axes *, const char *fold,
                           const char *term, double factor);
