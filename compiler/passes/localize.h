// localize.h - a node as one rank runs it: smaller types, nothing moved.
#pragma once
#include "compiler/pass.h"

// Emits old node n on local operands; in and out are the layouts chosen for it.
gr_val gr_emit_local(gr_rewrite *, const gr_node *n, const gr_val *args, const gr_layout *in,
                     const gr_layout *out);
