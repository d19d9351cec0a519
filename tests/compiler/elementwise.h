// elementwise.h - random graphs of elementwise nodes and nodes over rows, for the tests of fused
// nodes.
#pragma once
#include "ir/op.h"

// Two to 60 nodes on inputs and states of one size, some of them bf16, a vector, lengths and a
// step; some nodes are products or transposed. It has four results, all f32.
GR_MUST_USE gr_status elementwise_random(gr_arena *, uint32_t seed, gr_graph **out);
// The graph after the pass `fuse`.
GR_MUST_USE gr_status elementwise_fused(gr_arena *, const gr_graph *, gr_graph **out);
