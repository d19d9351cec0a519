// score.h - helpers of losses and metrics. A score has two results, [n] each: per sample, a sum of
// terms and the sum of their weights. The model builder sums both over the global batch and
// divides, so that the mean is the same on any number of ranks.
#pragma once
#include <stdio.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"

// Writes the index notation of logits [n,...,V] and labels [n,...], followed by `rest`.
void gr_score_axes(const gr_op_call *, char buf[128], const char *rest);
// Checks that operand 0 is float logits of at least two axes and operand 1 integers: GR_ERR_TYPE.
GR_MUST_USE gr_status gr_score_labels(const gr_op_call *);
// gr_score_labels for a score: its results are f32 where logits are narrow.
GR_MUST_USE gr_status gr_score_infer(gr_op_call *);
// Checks that every label of operand 1 is in [0, v) or equals `ignore`: GR_ERR_DATA.
GR_MUST_USE gr_status gr_check_labels(const gr_launch *, int64_t v, int64_t ignore);
// log(sum(exp(x))) of a row of v elements of operand 0.
double gr_log_sum_exp(const gr_launch *, int64_t row, int64_t v);

// On a GPU the first kernel of a score writes so many pairs, a term and its weight, to working
// memory: gr_score_kernel gives it that, and score.cu. gr_score_rows appends one over the rows of
// operand 0, a pair for each; its first numbers are those of rows and of elements in each.
// gr_score_sums appends the kernel that adds the pairs of each sample into results 0 and 1.
gr_gpu_kernel *gr_score_kernel(gr_gpu_call *, gr_gpu_kernel *, int64_t pairs);
// `source`: text of the kernel.
gr_gpu_kernel *gr_score_rows(gr_gpu_call *, const char *source, const char *entry);
// After `first`, of that many pairs.
void gr_score_sums(gr_gpu_call *, const gr_gpu_kernel *first, int64_t pairs);
