// einsum.h - a sum of products, said by the letters of axes ("bij,jk->bik"), as steps that are an
// op each: two operands at a time, as a product of matrices whose axes are moved together, or as a
// pointwise product where no axis is summed. Models and ONNX have it (compiler/model/einsum.c,
// einsum_read.c), each with values of its own.
#pragma once
#include "ir/onnx_read.h"

enum { GR_EINSUM_TERMS = 16, GR_EINSUM_LETTERS = 128 };

typedef enum gr_einsum_kind {
  GR_EINSUM_EYE,      // a new value: 1 where both axes are equal, else 0; `group` has their letter
  GR_EINSUM_TURN,     // transpose: axis i is axis axes[i] of before
  GR_EINSUM_SHAPE,    // reshape: axis i has the letters group[i]; "": it is of size 1
  GR_EINSUM_SUM,      // over axes
  GR_EINSUM_TIMES,    // mul
  GR_EINSUM_PRODUCT,  // matmul, of operands that are read transposed, or not
} gr_einsum_kind;
// Values are numbered: the operands, then the result of each step.
typedef struct gr_einsum_step {
  gr_einsum_kind kind;
  int in[2], n;  // n: of axes, or of groups
  int64_t axes[GR_MAX_RANK];
  const char *group[GR_MAX_RANK];
  bool ta, tb;
} gr_einsum_step;

// A value whose axes have these letters; those of "..." are digits, of which 5 is the last.
typedef struct gr_einsum_term {
  int value;
  const char *axis;
} gr_einsum_term;

typedef struct gr_einsum {
  // Given: the operands, and the number of sizes that each axis may have.
  gr_arena *arena;
  const char *equation;
  int n, choices, rank[GR_EINSUM_TERMS];
  int64_t dim[GR_EINSUM_TERMS][GR_MAX_RANK][GR_READ_CHOICES];
  // Found: what is wrong with the equation, as "has two sizes of 'i': 3 and 4", or NULL.
  const char *wrong;
  gr_einsum_step *step;
  int n_steps, value;                                // the result is that value
  int64_t size[GR_EINSUM_LETTERS][GR_READ_CHOICES];  // of letters; 0: none
  // While it is read.
  int n_terms, n_rest;  // n_rest: axes of "...", which is the same of all; -1: none yet
  gr_einsum_term in[2 * GR_EINSUM_TERMS];
  const char *out;
} gr_einsum;

// Finds the steps, or what is wrong.
void gr_einsum_plan(gr_einsum *);
// The product of the sizes of letters, of those of that choice.
int64_t gr_einsum_size(const gr_einsum *, const char *letters, int choice);
// Whether one of the letters is an axis that may have another size, such as that of the batch: one
// with several sizes; where each has one, the first of the result.
bool gr_einsum_is_open(const gr_einsum *, const char *letters);
