// wrap.h - what FSDP takes as a unit: from patterns of blocks or weights to the paths of scopes.
#pragma once
#include "compiler/model/model.h"

// Settles options.units and options.whole_below. `init`: a graph with all weights of the model,
// whose parts are `scopes`. Fails where a pattern of options.wrap matches nothing.
GR_MUST_USE gr_status gr_units_read(gr_arena *, const gr_scopes *, const gr_graph *init,
                                    gr_options *);
