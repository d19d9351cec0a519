// permute.h - four-byte elements into another order of axes, near the speed of memory.
#pragma once
#include "ops/kernels/cpu.h"

// Axis d of y is axis perm[d] of x. x and y do not overlap.
void gr_permute(const gr_launch *, const gr_type *x_type, const gr_ints *perm, const void *x,
                void *y);
