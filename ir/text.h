// text.h - the IR's text format; printing and parsing round-trip.
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

typedef const gr_op *(*gr_op_finder)(const char *name);  // gr_op_find: ir/ does not know the ops
// Appends the text of a graph, with or without notes; gr_graph_print writes it with notes.
void gr_graph_text(gr_text *, const gr_graph *, bool notes);
void gr_graph_print(FILE *, const gr_graph *);  // with notes
// Parses text into a new graph in the arena. Fails with GR_ERR_TYPE at file:line:col if the text is
// malformed or the types that it states are not those of inference. `file` is borrowed.
GR_MUST_USE gr_status gr_graph_parse(gr_arena *, gr_op_finder, const char *file, const char *text,
                                     gr_graph **out);
uint64_t gr_graph_hash(const gr_graph *);  // hash of the text without notes

// The keyword of a leaf, "input", "weight", "moment", ...; and back, false: not a keyword.
const char *gr_leaf_word(const gr_value *);
bool gr_leaf_of_word(const char *word, gr_role *, gr_kind *);  // false: it is no keyword
