// loops.h - graphs of one loop with a random body, which a GPU runs as one kernel.
#pragma once
#include "ir/op.h"

// Products and elementwise nodes on f32[side,side], with a row; carries that start at zero, are handed
// on, or come from the data; forwards or backwards. Its inputs are f32, its results out0, out1, ...
GR_MUST_USE gr_status loops_random(gr_arena *, uint32_t seed, int64_t steps, int64_t side,
                                   gr_graph **out);
