// memory.h - static buffer assignment: the offset of every value in its block of memory.
#pragma once
#include "base/map.h"
#include "compiler/plan/plan.h"
#include "ops/loop/scan.h"

// Plans a program's graph on states that have been placed; by_name: their indices. Values are
// aligned to 64 bytes.
void gr_memory_plan(gr_arena *, const gr_plan_state *states, const gr_map *by_name,
                    const gr_graph *, gr_plan_frame *out);

// By value: the index of the last node that reads it, its maker's where none does, n_nodes where
// it is a result or a state becomes it.
uint32_t *gr_memory_last_use(gr_arena *, const gr_graph *);

// May result k of n take the memory of operand j, as far as its op is concerned?
bool gr_memory_may_reuse(const gr_graph *, const gr_node *n, int k, int j);

// May the next value of a state (or of a carry of a body) be made where the state is? All who read
// the state come before, or its maker itself is the last and may work in place. last:
// gr_memory_last_use of the graph.
bool gr_memory_may_become(const gr_graph *, const uint32_t *last, uint32_t state);

// Fills in body->carry. The rest of the body's frame has been planned.
void gr_memory_choose_carries(gr_arena *, const gr_scan *, gr_plan_frame *body);
