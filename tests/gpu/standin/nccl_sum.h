// nccl_sum.h - the numbers of the stand-in NCCL.
#pragma once
#include <stddef.h>

// Bytes of a number of an ncclDataType_t; 0: there is no such type.
size_t standin_nccl_size(int type);
// to[i] = all ranks' element first + i, for n of them, reduced by an ncclRedOp_t in the order of
// the ranks. ranks: where each one's elements are.
void standin_nccl_reduce(void *to, const char *const *ranks, int n_ranks, size_t first, size_t n,
                         int type, int op);
