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

// The attributes that the words "NAME=VALUE" say, in the arena.
GR_MUST_USE gr_status gpu_case_attr(gr_arena *, const gr_op *, const char *words, const void **out);
// The case with its f32 operands, but for scalars, in another type; false if there are none.
bool gpu_case_retyped(gr_arena *, const gr_case *, const char *dtype, gr_case *out);
