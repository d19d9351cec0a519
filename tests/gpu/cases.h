// cases.h - calls whose sizes the cases of the ops do not have: kernels for GPUs divide work into
// tiles, parts and ranges, which small operands do not fill.
#pragma once
#include "ir/op.h"

typedef struct gpu_case {
  const char *op;
  gr_case call;      // its attributes are in `attr`
  const char *attr;  // "stride=2 pad=3"; others have their defaults
  const char *set;   // "3=20": all numbers of operand 3 are 20
} gpu_case;
extern const gpu_case gpu_cases[];  // ends with an empty one
