// source.h - ops without operands: their shape is an attribute.
#pragma once
#include "ops/kernels/cpu.h"

gr_status gr_source_shape(gr_op_call *, const gr_ints *shape, gr_dtype);

// Fills this rank's part of the result, on all threads. draw makes the numbers of n indices from
// one on; each is a function of its index, so that the cuts do not show.
typedef void (*gr_draw)(const gr_rng *, const void *attr, uint64_t from, int64_t n, double *out);
void gr_source_draw(const gr_launch *, const gr_rng *, gr_draw);
