// gpu_join.h - the launches of several calls that do not depend on each other, as few launches: as
// one kernel where they run the same code. See gpu.h.
//
// A joined kernel has the blocks of all its members, one after the other, and one parameter list
// for each of them in a table, as rows of 8-byte words:
//
//   the member's first block, its number of blocks, operands, results, working memory if it has
//   any, and its numbers, a double by its bits
//
// Each block finds its row and runs the member's code as if it were a block of that member alone,
// so that values are the same bits as those of single launches.
#pragma once
#include "ops/kernels/gpu.h"

typedef struct gr_gpu_joined {
  int launch;  // the launch of each member: its calls' launch[at]
  int n;       // members
  int *call;   // of them, as indices
} gr_gpu_joined;

// Describes n calls of multi-tensor ops, in the arena; `where` may be NULL, as processors 0.
GR_MUST_USE gr_status gr_gpu_describe_all(gr_arena *, const gr_op_call *calls,
                                          const gr_launch *const *where, int processors, int n,
                                          gr_gpu_call **out);
// Joins the launches of n described calls, all first launches before all second ones; writes a list
// to the arena and returns its length. What cannot be joined is a list entry of one member.
int gr_gpu_join(gr_arena *, const gr_gpu_call *calls, int n, gr_gpu_joined **out);
// Appends the text of a joined kernel, "joined", with the parameters `table` and the number of
// members.
void gr_gpu_joined_source(const gr_gpu_call *, const gr_gpu_kernel *, gr_text *out);
// Appends the text of kernels as that of device functions, whose block is gr_member_block of
// gr_member_grid, with gr_member_dim threads, and which are gr_member: gr_gpu_member_text defines
// these.
void gr_gpu_put_functions(gr_text *out, const char *text);
extern const char gr_gpu_member_text[];
// The number of words of a row.
int gr_gpu_row_words(const gr_gpu_call *, const gr_gpu_kernel *);
