// text.h - the IR as text, which prints and parses back to the same graph.
//
//   mesh dp=2
//   %1 = input x : f32[4,8] dp:S0
//   %2 = weight w : f32[8,3] next=%9 grad=%7
//   %3 = matmul %1 %2 {ta=false, tb=false} : f32[4,3] dp:S0  # model head graphs/mlp.yaml:12:9
//   loss %5 / %6
//   result logits %3
//
// A scan's body is written in braces, indented, after its node. Everything after # is a note.
// Layouts say where a value is not whole: "axis:S0" split along dimension 0, "axis:P" a term;
// "axis:S0-2" split, and all slices together are 2 longer than the whole.
#pragma once
#include "ir/op.h"

typedef const gr_op *(*gr_op_finder)(const char *name);  // ir knows no op: ops/ops.h gives this
void gr_graph_text(gr_text *, const gr_graph *, bool notes);
void gr_graph_print(FILE *, const gr_graph *);
GR_MUST_USE gr_status gr_graph_parse(gr_arena *, gr_op_finder, const char *file, const char *text,
                                     gr_graph **out);
uint64_t gr_graph_hash(const gr_graph *);  // of the text without notes

const char *gr_leaf_word(const gr_value *);  // "input", "weight", "moment", ...
bool gr_leaf_of_word(const char *word, gr_role *, gr_kind *);
