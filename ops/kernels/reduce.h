// reduce.h - what sums, means and maxima over axes share.
#pragma once
#include "ops/kernels/cpu.h"

typedef struct gr_axes {
  gr_ints axes;  // those that go
  int64_t keep;  // they stay, with size 1
} gr_axes;

#define GR_AXES_ATTRS                                                               \
  {                                                                                 \
    GR_ATTR(gr_axes, axes, GR_ATTR_INTS, NULL, "the axes that go"),                 \
        GR_ATTR(gr_axes, keep, GR_ATTR_BOOL, "false", "leave them, with size 1"), { \
      0                                                                             \
    }                                                                               \
  }

bool gr_axes_goes(const gr_axes *, int axis);
// "abc->ac"; whole: the axes that go may not be split ("aBc->ac").
void gr_axes_notation(const gr_site *, bool whole, char buf[128]);
gr_status gr_axes_infer(gr_site *);
gr_val gr_axes_spread(gr_builder *, const gr_axes *, gr_val y, const gr_type *x);  // back to x

// The input as [outer, n, inner], n being what goes; false: the axes are not next to each other.
typedef struct gr_block {
  int64_t outer, n, inner;
} gr_block;
bool gr_axes_block(const gr_axes *, const gr_type *x, gr_block *out);

// The index in x of term k of output o.
int64_t gr_axes_term(const gr_axes *, const gr_type *x, int64_t o, int64_t k);

// The reference: y = factor * fold of x over the axes.
void gr_reduce(const gr_launch *, double start, double (*fold)(double sum, double x),
               double factor);

// y[outer, inner] = factor * sum over n of x[outer, n, inner], in blocks that depend on sizes
// only; blocks are summed in double.
void gr_sum_block(const gr_launch *, gr_block, const float *x, float *y, double factor);
size_t gr_sum_scratch(gr_block);
