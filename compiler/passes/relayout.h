// relayout.h - converts a value from one layout to another; part of the shard pass.
#pragma once
#include "compiler/pass.h"

// gr_relayout (pass.h), with the collectives in a group (ops/comm/collective.h); 0: no group.
gr_val gr_relayout_as(gr_builder *, gr_val, gr_layout target, int64_t group);
#define GR_RELAYOUT_NEVER (INT64_MAX / 256)  // of what is impossible; sums of it do not overflow
// The cost of converting a value of `bytes` bytes along one axis, in bytes that a rank sends and
// receives, up to a common factor. Ties are broken by the 1: a slice is a local copy, and a value
// that is reduce-scattered will usually be gathered later.
int64_t gr_relayout_cost(gr_axis_placement source, gr_axis_placement target, int64_t bytes);
