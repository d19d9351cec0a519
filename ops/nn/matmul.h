// matmul.h - the attributes of matmul and what it is as a product of matrices, shared by matmul.c,
// matmul_bias.c and pack.c (matmul_shape.c).
#pragma once
#include "ops/kernels/gemm.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct matmul {
  int64_t ta, tb;
  int64_t sum;   // whether leading axes are summed over
  int64_t wide;  // whether the result of narrow operands is f32
};

// An op call as one GEMM that is repeated `count` times; sum: all add to the same result.
typedef struct gr_matmul_shape {
  gr_gemm g;
  int64_t count;
  gr_gemm_steps step;
} gr_matmul_shape;
// The product of x and y, with as few and as large matrices as the operands' layout allows.
gr_matmul_shape gr_matmul_shape_of(const gr_type *x, const gr_type *y, const struct matmul *);
// The kernel of CPUs for narrow operands.
gr_status gr_matmul_narrow(const gr_launch *);
// Its scratch memory in bytes.
size_t gr_matmul_narrow_scratch(const gr_op_call *);
// For a GPU: of operands 0 and 1 to result 0.
gr_gpu_gemm gr_matmul_gpu(const gr_op_call *, const gr_matmul_shape *);
