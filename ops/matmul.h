// matmul.h - what the files of matrix products share.
#pragma once
#include "ops/gemm.h"
#include "ops/nn.h"
#include "ops/ops.h"

struct matmul {
  int64_t ta, tb;
  int64_t sum;  // leading axes are summed over
};
