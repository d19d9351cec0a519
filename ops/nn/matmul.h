// matmul.h - what the files of matrix products share.
#pragma once
#include "ops/kernels/gemm.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct matmul {
  int64_t ta, tb;
  int64_t sum;  // leading axes are summed over
};
