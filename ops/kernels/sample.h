// sample.h - ops that draw random numbers in every step. Their operands are a value, of whose shape
// they are, and the number of the step; a number depends on seed, stream, step and its index in the
// global value.
#pragma once
#include "ir/onnx_read.h"
#include "ops/kernels/source.h"

typedef struct gr_sample {
  int64_t seed;
  uint64_t stream;
} gr_sample;
extern const gr_attr gr_sample_attrs[];
extern const gr_case gr_sample_cases[];  // of ops whose result is of the operand's type
// The fields of such an op; its file defines NAME_cpu, run_f32 and how it is read from ONNX.
#define GR_SAMPLE_FIELDS(name_)                                                              \
  .name = #name_, .attr_size = sizeof(gr_sample), .attrs = gr_sample_attrs,                  \
  .index_spec = "...,->...", .infer = gr_sample_infer, .random = true, .grad = gr_grad_zero, \
  .cpu = name_##_cpu, .fast_f32 = run_f32, .gpu = gr_sample_each_gpu, .amp = GR_AMP_WIDE,    \
  .cases = gr_sample_cases

gr_status gr_sample_infer(gr_op_call *);  // GR_ERR_TYPE: no floats, or no number of a step
// Reads a node of the shape of its operand: that op's numbers times a width, plus what they are
// from.
void gr_sample_read(gr_onnx_reading *, double offset, double width);
// The generator of a launch, for the step that operand 1 holds; numbers are drawn from it by their
// index in the global value.
gr_rng gr_sample_rng(const gr_launch *);
// Appends kernel `entry` of sample.cu for n results.
gr_gpu_kernel *gr_sample_gpu(gr_gpu_call *, const char *entry, int64_t n);
// The kernel that has the op's name, for a number at each element of the result.
gr_status gr_sample_each_gpu(gr_gpu_call *);
