// host_slice.h - the nodes by which a value of a model is computed from one input alone, run by
// their reference kernels while a plan is made.
#pragma once
#include "ir/op.h"

typedef struct gr_host_slice {
  const gr_graph *g;
  gr_arena *arena;
  const char *input;      // the only one that it may be computed from
  gr_val leaf;            // that input; GR_NONE: it is a constant
  bool *wanted;           // by value
  const gr_node **nodes;  // n_nodes that it is computed by, in their order
  uint32_t n_nodes;
  void **data;  // by value, of those that are wanted
} gr_host_slice;

// Finds the nodes that a value is computed by. False: one is not allowed, or reads something else.
bool gr_host_slice_find(gr_host_slice *, gr_val, bool (*allowed)(const gr_op *));
// Makes room for all values. The caller then fills in that of the input.
void gr_host_slice_open(gr_host_slice *);
// Runs the nodes.
GR_MUST_USE gr_status gr_host_slice_run(gr_host_slice *);
