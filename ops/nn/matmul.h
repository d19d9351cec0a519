// matmul.h - the attributes of matmul, shared by matmul.c and pack.c.
#pragma once
#include "ops/kernels/gemm.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct matmul {
  int64_t ta, tb;
  int64_t sum;   // whether leading axes are summed over
  int64_t wide;  // whether the result of narrow operands is f32
};
