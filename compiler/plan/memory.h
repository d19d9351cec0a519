// memory.h - static buffer assignment: the offset of every value in its block of memory. Nothing
// here fails: any graph can be assigned, and prove_memory.c checks the result independently.
#pragma once
#include "base/map.h"
#include "compiler/plan/plan.h"
#include "ops/loop/scan.h"

// Plans the memory of a program's graph. `states` have their offsets already; by_name maps their
// names to indices. gpu: the working memory of calls is what GPUs need. Offsets are multiples of
// GR_PLAN_ALIGN. *out and what it points to are in the arena.
void gr_memory_plan(gr_arena *, const gr_plan_state *states, const gr_map *by_name,
                    const gr_graph *, bool gpu, gr_plan_frame *out);

// By value: the index of the last node that reads it; of the node that computes it, if none reads
// it; n_nodes, if it is a result or a state's next value, which outlive the last node.
uint32_t *gr_memory_last_use(gr_arena *, const gr_graph *);

// Whether the op allows result k of n to reuse the memory of operand j: the types fit, and its
// kernels work in place. Whether the operand is dead by then is not considered.
bool gr_memory_may_reuse(const gr_graph *, const gr_node *n, int k, int j);

// Whether the next value of a state (or of a body's carry) may be written in the state's memory:
// every read of the state comes before the node that computes it, or that node is the last reader
// and may work in place. last: gr_memory_last_use of the graph.
bool gr_memory_may_become(const gr_graph *, const uint32_t *last, uint32_t state);

// Chooses how each carry is updated and sets body->carry. Called last: it reads the rest of the
// body's frame.
void gr_memory_choose_carries(gr_arena *, const gr_scan *, gr_plan_frame *body);
