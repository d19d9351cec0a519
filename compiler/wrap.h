// wrap.h - resolves patterns of blocks, parts or weights to paths of scopes: FSDP's wrapping
// policy, and what is computed again in the backward pass.
#pragma once
#include "compiler/model/model.h"

// Sets options.sharding.units and options.sharding.replicate_below. `init` is a graph with all
// weights of the model, whose parts are `scopes`; `parts` are patterns of them by the names that
// its file has for them, or NULL. GR_ERR_CONFIG if a pattern of options.sharding.wrap matches
// nothing.
GR_MUST_USE gr_status gr_units_read(gr_arena *, const gr_scopes *, const gr_conf *parts,
                                    const gr_graph *init, gr_options *);
// Sets options.memory.recomputed and .given from options.memory.recompute, likewise.
GR_MUST_USE gr_status gr_recomputed_read(gr_arena *, const gr_scopes *, const gr_conf *parts,
                                         gr_options *);
