// localize.h - emits the per-rank version of a node; part of the shard pass.
#pragma once
#include "compiler/pass.h"

// Emits node n of graph `of` on local operands, with size attributes localized, and sets its
// results' layouts; in and out are the layouts chosen for it. Emits no collective.
gr_val gr_emit_local(gr_rewrite *, const gr_graph *of, const gr_node *n, const gr_val *args,
                     const gr_layout *in, const gr_layout *out);
// A value in another dtype, with the same layout.
gr_val gr_cast_local(gr_builder *, gr_val, gr_dtype to);
