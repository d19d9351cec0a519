// score.h - what losses and metrics share. A score has two results, [n] each: per sample, a sum of
// terms and the sum of their weights. The framework adds both up over the global batch and
// divides, so that the value is right on any number of ranks.
#pragma once
#include <stdio.h>
#include "ops/kernels/operands.h"

// The notation of logits [n,...,V], labels [n,...], then the rest.
void gr_score_axes(const gr_op_call *, char buf[128], const char *rest);
// Operand 0 is logits of at least two axes, operand 1 integers.
GR_MUST_USE gr_status gr_score_labels(const gr_op_call *);
// Every label of operand 1 is one of v classes, or the one to ignore.
GR_MUST_USE gr_status gr_check_labels(const gr_launch *, int64_t v, int64_t ignore);
double gr_log_sum_exp(const gr_launch *, int64_t row, int64_t v);  // of a row of operand 0
