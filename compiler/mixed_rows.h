// mixed_rows.h - which nodes of a model mix the rows of a batch.
#pragma once
#include "compiler/plan/plan.h"

// Notes in notes->mixed the nodes that compute from several rows of a batch, such as a mean over it
// or the products of all pairs, although rows that only pad the batch are among them: neither have
// the operands been combined with the input "weight", which is 0 there, nor the results before
// anything that is asked for. `g`: a model's graph, before any pass; nothing without that input.
void gr_note_mixed_rows(const gr_graph *g, gr_notes *notes);
