// composed.h - gradients of ops by what else computes the same: a fused op, as that of a gradient,
// is written as ops that have gradients.
#pragma once
#include "ir/op.h"

// Emits what an op gives for the operands x, all of its results into y, as other ops. `of` has the
// attributes and the number of operands; its values are those of another graph.
typedef void (*gr_composition)(gr_builder *, const gr_grad *of, const gr_val *x, gr_val *y);

// The gradients of all operands of an op whose results are that composition: a rule for gr_op.grad.
void gr_grad_of_composition(const gr_grad *, gr_composition);
