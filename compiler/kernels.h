// kernels.h - whether the device of a plan has a kernel for each node of a program.
#pragma once
#include "ir/op.h"

// GR_ERR_UNSUPPORTED at the place in the model, with the op and the device, if a node of the graph,
// or of a loop's body, has none: no rank need start to find that out.
GR_MUST_USE gr_status gr_kernels_check(const gr_graph *, bool gpu);
