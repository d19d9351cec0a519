// sum.h - the one place where ranks' terms are added up.
#pragma once
#include "ir/graph.h"

// out[i] = term[0][i] + term[1][i] + ..., in this order and into every one of the outs: every
// rank that adds the same terms gets the same bits. bf16 adds up in f32 and rounds once; i32
// wraps. An out may be a term.
void gr_comm_sum(gr_dtype, int64_t n, int terms, const void *const *term, int outs,
                 void *const *out);
