// fused.h - elementwise nodes as one node, so that what they compute in between never goes to
// memory.
//
// The body is a graph of its own, an attribute of the node. Its leaves are the node's operands in
// order, its results the node's results. Each node of the body, a part, is an elementwise op on f32
// or bf16. All values have the same sizes, except that a leaf may be a row: of the size of the last
// axis, added to each row of the others (bias_add).
#pragma once
#include "base/text.h"
#include "ir/op.h"

typedef struct gr_fused {
  const gr_graph *body;
} gr_fused;

// A part has at most three operands, so that a fused node has at most 2 GR_FUSED_PARTS + 1.
enum { GR_FUSED_PARTS = 16, GR_FUSED_VALUES = 3 * GR_FUSED_PARTS + 2 };

// Whether a node can be a part.
bool gr_fused_takes(const gr_graph *, const gr_node *);
// Whether a part's operand of type t is a row beside a result of type `out`, and whether they have
// the same sizes. One of the two holds for all operands of parts.
bool gr_fused_is_row(const gr_type *t, const gr_type *out);
bool gr_fused_is_like(const gr_type *t, const gr_type *out);
// Appends, for a GPU, a device function of floats for each part: PREFIX_V computes value V of the body.
void gr_fused_put_functions(gr_text *, const gr_graph *body, const char *prefix);
