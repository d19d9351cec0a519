// reduce.h - what sums, means and maxima over axes share.
#pragma once
#include "ops/kernels/cpu.h"

typedef struct gr_reduce_axes {
  gr_ints axes;     // those that go
  int64_t keepdim;  // they stay, with size 1
} gr_reduce_axes;

#define GR_AXES_ATTRS                                                                         \
  {                                                                                           \
    GR_ATTR(gr_reduce_axes, axes, GR_ATTR_INTS, NULL, "the axes that go"),                    \
        GR_ATTR(gr_reduce_axes, keepdim, GR_ATTR_BOOL, "false", "leave them, with size 1"), { \
      0                                                                                       \
    }                                                                                         \
  }

bool gr_reduce_axes_contains(const gr_reduce_axes *, int axis);
// "abc->ac"; whole: the axes that go may not be split ("aBc->ac").
void gr_reduce_index_spec(const gr_op_call *, bool whole, char buf[128]);
gr_status gr_reduce_infer(gr_op_call *);
gr_val gr_reduce_broadcast_back(gr_builder *, const gr_reduce_axes *, gr_val y,
                                const gr_type *x);  // back to x

// The input as [outer, n, inner], n being what goes; false: the axes are not next to each other.
typedef struct gr_block {
  int64_t outer, n, inner;
} gr_block;
bool gr_reduce_block(const gr_reduce_axes *, const gr_type *x, gr_block *out);

// The index in x of term k of output o.
int64_t gr_reduce_term(const gr_reduce_axes *, const gr_type *x, int64_t o, int64_t k);

// The reference: y = factor * fold of x over the axes.
void gr_reduce(const gr_launch *, double start, double (*fold)(double sum, double x),
               double factor);

// y[outer, inner] = factor * sum over n of x[outer, n, inner], in blocks that depend on sizes
// only; blocks are summed in double.
void gr_sum_block(const gr_launch *, gr_block, const float *x, float *y, double factor);
size_t gr_sum_scratch(gr_block);
