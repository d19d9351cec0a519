// permute.h - transposition of elements of four or two bytes, bound by memory bandwidth.
#pragma once
#include "ops/kernels/cpu.h"

// The axes of y that remain when axes that are neighbours in x as well are merged and those of size
// 1 are left out; at least one.
typedef struct gr_permutation {
  int rank;
  int64_t size[GR_MAX_RANK];
  int64_t in_stride[GR_MAX_RANK], out_stride[GR_MAX_RANK];  // strides in x and in y
  int row;                                                  // the axis with stride 1 in x
} gr_permutation;
// The permutation of x whose result's axis d is axis perm[d] of x.
gr_permutation gr_permutation_of(const gr_type *x, const gr_ints *perm);

// Axis d of y is axis perm[d] of x. x and y do not overlap. Runs on all threads of the launch.
void gr_permute(const gr_launch *, const gr_type *x_type, const gr_ints *perm, const void *x,
                void *y);
