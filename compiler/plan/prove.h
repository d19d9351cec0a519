// prove.h - what is proved of a plan before anything runs.
#pragma once
#include "compiler/plan/plan.h"
#include "compiler/plan/span_set.h"

// Proves, from the plan alone, that every rank can run each of its programs to the end and gets
// what the model says: see prove.c for what is proved and what that rests on. Fails with GR_ERR_BUG
// at the node that breaks a claim.
GR_MUST_USE gr_status gr_plan_prove(const gr_plan *);
// gr_plan_prove, on so many threads (0: one for each processor).
GR_MUST_USE gr_status gr_prove_plan(const gr_plan *, int threads);

// ---- Its parts

// Every value of a program is on each rank what its layout says, collectives move it as that says,
// and decisions are the same on all ranks (prove_layout.c).
GR_MUST_USE gr_status gr_prove_layouts(const gr_graph *);
// The ranks of a mesh run graphs to the end without deadlock: rank r runs of[r], or where n
// is 1 all run of[0] (prove_ranks.c).
GR_MUST_USE gr_status gr_prove_ranks(gr_arena *, const gr_mesh *, const gr_graph *const *of, int n);
// No two states share memory, and all are within the states block.
GR_MUST_USE gr_status gr_prove_states_disjoint(const gr_plan *);
// No value of the program is written over while something still reads it (prove_memory.c).
GR_MUST_USE gr_status gr_prove_memory(gr_arena *, const gr_plan *, const gr_program *);
// Where those values of a scan's body are in a step that are not in its block, by value, in
// addresses from `from` on; and which have their place to themselves for the whole step. Fails
// where the body's carries or stacks cannot be as the plan says (prove_carry.c).
GR_MUST_USE gr_status gr_prove_carries(const gr_node *scan, const gr_plan_frame *body, size_t from,
                                       gr_span *spans, bool *held);
