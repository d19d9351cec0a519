// text.h - the IR's text format. Tests read it, too (tests/ir/parse.h): no text has two meanings.
//
//   mesh dp=2
//   %1 = input x : f32[4,8] dp:S0
//   %2 = weight w : f32[8,3] next=%9 grad=%7
//   %3 = matmul %1 %2 {ta=false, tb=false} : f32[4,3] dp:S0  # model head graphs/mlp.yaml:12:9
//   loss %5 / %6
//   result logits %3
//
// A scan's body follows its node, indented, in braces. Text after # is a note and is ignored.
// Layouts list the mesh axes on which a value is not replicated: "dp:S0" is Shard(0), "dp:P" is
// Partial, "dp:S0-2" is Shard(0) with 2 elements of padding in total.
#pragma once
#include "ir/op.h"

// Appends the text of a graph, with or without notes; gr_graph_print writes it with notes.
void gr_graph_text(gr_text *, const gr_graph *, bool notes);
void gr_graph_print(FILE *, const gr_graph *);  // with notes
uint64_t gr_graph_hash(const gr_graph *);       // hash of the text without notes

// The keyword of a leaf, "input", "weight", "moment", ...
const char *gr_leaf_word(const gr_value *);
