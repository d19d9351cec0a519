// source.h - ops without operands, whose shape is an attribute.
#pragma once
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"

// Sets the call's result to that shape and dtype.
gr_status gr_source_shape(gr_op_call *, const gr_ints *shape, gr_dtype);

// Computes n numbers of consecutive global indices; each depends only on its index, so results do
// not depend on sharding or threads.
typedef void (*gr_draw)(const gr_rng *, const void *attr, uint64_t first, int64_t n, double *out);
// Fills this rank's part of the result, on all threads. GR_ERR_STOPPED if the process is asked to
// stop before it trains (base/stop.h).
GR_MUST_USE gr_status gr_source_draw(const gr_launch *, const gr_rng *, gr_draw);

// The same on a GPU: kernel `entry` of init.cu, with the two numbers of the distribution.
void gr_source_gpu(gr_gpu_call *, const gr_rng *, const char *entry, double first, double second);
