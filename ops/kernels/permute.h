// permute.h - transposition of four-byte elements, bound by memory bandwidth.
#pragma once
#include "ops/kernels/cpu.h"

// Axis d of y is axis perm[d] of x. x and y do not overlap. Runs on all threads of the launch.
void gr_permute(const gr_launch *, const gr_type *x_type, const gr_ints *perm, const void *x,
                void *y);
