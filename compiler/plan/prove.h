// prove.h - what is proved of a plan before anything runs.
#pragma once
#include "compiler/plan/plan.h"

// Proves, from the plan alone: collective sequences are the same on all ranks, none is in a loop or
// under a condition that ranks may see differently, no two live values overlap, and states are
// placed alike in all programs. Fails with GR_ERR_PLAN at the node that breaks a claim.
GR_MUST_USE gr_status gr_plan_prove(const gr_plan *);

// ---- Its parts

// No two states share memory, and all are within the states block.
GR_MUST_USE gr_status gr_prove_states_disjoint(const gr_plan *);
// gr_plan_prove, on so many threads (0: one for each processor).
GR_MUST_USE gr_status gr_prove_plan(const gr_plan *, int threads);
// No value of the program is written over while something still reads it.
GR_MUST_USE gr_status gr_prove_memory(gr_arena *, const gr_plan *, const gr_program *);
