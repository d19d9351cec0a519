// alignment.h - how many frames a model leaves of a sample, where it aligns texts to them.
#pragma once
#include "compiler/plan/plan.h"

// Notes in notes->aligned, of each ctc_loss of the data's texts whose lengths are computed row by
// row from the input "lengths", the frames for every length. `g`: a model's graph, before any pass.
// GR_ERR_DATA and others: of a kernel.
GR_MUST_USE gr_status gr_note_alignments(const gr_graph *g, gr_notes *notes);
