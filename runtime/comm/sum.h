// sum.h - the summation that all collectives share.
#pragma once
#include "ir/graph.h"

// out[k][i] = term[0][i] + term[1][i] + ... for every k, summed in this order, so that every rank
// that sums the same terms gets the same bits; tree: each half of the terms first, as
// (t0 + t1) + (t2 + t3), so that sums of 2^n neighbours may be terms themselves. bf16 and f16
// accumulate in f32 and round once; i32 wraps. An out may be one of the terms. n is in elements.
void gr_comm_sum(gr_dtype, bool tree, int64_t n, int terms, const void *const *term, int outs,
                 void *const *out);
