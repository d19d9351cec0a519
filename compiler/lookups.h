// lookups.h - which columns of the data a model looks up in tables.
#pragma once
#include "compiler/plan/plan.h"

// Notes in notes->lookups, of each embedding whose ids are parts of the input "x" as they are, the
// numbers of these parts along the last axis. `g`: a model's graph, before any pass.
GR_MUST_USE gr_status gr_note_lookups(const gr_graph *g, gr_notes *notes);
