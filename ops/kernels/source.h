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
// The same of f32: numbers go straight to the result, the first of them to `out`.
typedef void (*gr_draw_f32)(const gr_rng *, uint64_t first, int64_t n, float *out);
// As gr_source_draw does it.
GR_MUST_USE gr_status gr_source_draw_f32(const gr_launch *, const gr_rng *, gr_draw_f32);

// Initial values from a distribution of two numbers, such as a mean and a deviation: init_*.c.
typedef struct gr_init {
  gr_ints shape;
  double first, second;
  int64_t seed;
  uint64_t stream;
} gr_init;
// The rows of their attributes: before those two numbers, for one of them, and behind them.
#define GR_INIT_SHAPE GR_ATTR(gr_init, shape, GR_ATTR_INTS, NULL, "shape of the result")
#define GR_INIT_NUMBER(name, field, default_value, doc) \
  { name, GR_ATTR_FLOAT, offsetof(gr_init, field), default_value, doc }
#define GR_INIT_STREAM                                         \
  GR_ATTR(gr_init, seed, GR_ATTR_INT, "0", "seed of the run"), \
      GR_ATTR(gr_init, stream, GR_ATTR_STREAM, NULL, "name of the random stream")

// The fields of such an op that are the same for all; its file defines attrs, cases and NAME_cpu.
#define GR_INIT_FIELDS(name_)                                                          \
  .name = #name_, .n_in = 0, .n_out = 1, .attr_size = sizeof(gr_init), .attrs = attrs, \
  .random = true, .infer = gr_init_infer, .cpu = name_##_cpu, .gpu = gr_init_gpu, .cases = cases

gr_status gr_init_infer(gr_op_call *);  // f32, of the attribute's shape
// gr_source_draw with the attributes' generator.
GR_MUST_USE gr_status gr_init_draw(const gr_launch *, gr_draw);
// The kernel of init.cu that has the op's name.
gr_status gr_init_gpu(gr_gpu_call *);
