// prove.h - the parts of the proof.
#pragma once
#include "compiler/plan.h"

// No two states share memory, and all are within the states block.
GR_MUST_USE gr_status gr_prove_states_apart(const gr_plan *);
// No value of the program is written over while something still reads it.
GR_MUST_USE gr_status gr_prove_memory(gr_arena *, const gr_plan *, const gr_program *);
