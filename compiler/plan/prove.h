// prove.h - proves properties of a plan before anything runs: no deadlock, no value overwritten
// before its last read, and every value on every rank as its layout states.
//
// The proofs read the plan alone and share no code with the passes and the planner that made it, so
// a mistake there is found here. Every error is GR_ERR_BUG, at the user's line of the node that
// breaks a claim: a user's mistake is reported long before.
#pragma once
#include "compiler/plan/plan.h"
#include "compiler/plan/span_set.h"

// Proves that every rank can run each of the plan's programs to the end and computes what the model
// defines. claims.def lists the claims and the assumptions that they rest on.
GR_MUST_USE gr_status gr_plan_prove(const gr_plan *);
// gr_plan_prove on a number of threads; 0: one for each processor.
GR_MUST_USE gr_status gr_prove_plan(const gr_plan *, int threads);

// A row of claims.def, in the words of a user.
typedef struct gr_claim {
  enum { GR_PROVED, GR_ASSUMED, GR_UNPROVED } kind;
  const char *name, *says;
} gr_claim;
const gr_claim *gr_plan_claim(int i);  // by its number, from 0 on; NULL: there are no more

// ---- Its parts

// On each rank every value of the program is what its layout states, every collective converts
// between the layouts of its operand and result, and all ranks make the same decisions
// (prove_layout.c).
GR_MUST_USE gr_status gr_prove_layouts(const gr_graph *);
// The ranks of a mesh run their graphs to the end without deadlock. Rank r runs of[r]; with n = 1
// all ranks run of[0] (prove_ranks.c).
GR_MUST_USE gr_status gr_prove_ranks(gr_arena *, const gr_mesh *, const gr_graph *const *of, int n);
// No two states share memory, and all are within the states block.
GR_MUST_USE gr_status gr_prove_states_disjoint(const gr_plan *);
// No value of the program is overwritten before its last read (prove_memory.c).
GR_MUST_USE gr_status gr_prove_memory(gr_arena *, const gr_plan *, const gr_program *);
// Nodes that are launched together do not disturb each other (prove_groups.c).
GR_MUST_USE gr_status gr_prove_groups(gr_arena *, const gr_plan *, const gr_program *);
// For the values of a scan's body that are outside the body's block, by value: the address range
// during a step, as addresses from `begin` on, in spans[]; and in held[] whether that range is
// reserved for the whole step. Fails if the plan's carry updates or stacks are impossible
// (prove_carry.c).
GR_MUST_USE gr_status gr_prove_carries(const gr_node *scan, const gr_plan_frame *body, size_t begin,
                                       gr_span *spans, bool *held);
