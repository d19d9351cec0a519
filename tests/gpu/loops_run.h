// loops_run.h - runs graphs of loops on a device, and says what their loops are there.
#pragma once
#include "compiler/compile.h"
#include "runtime/exec/exec.h"

enum { LOOPS_MOST = 1 << 21 };  // of all numbers of a graph, and bytes of a value

// Runs a graph on a device so often, at last with values and before of zeros, so that what an
// earlier run left is not right; reads its results and states, one after the other. Returns the
// nodes that were captured.
int loops_run(const gr_graph *, gr_arena *, const gr_device_ops *, int runs, double *out);
// The largest difference of n numbers, of the largest number or 1.
double loops_worst(const double *x, const double *y, int64_t n);

// Numbers of the kernels of a graph's loops.
typedef struct loops_seen {
  int loops, kernels, waits;
  int small;      // of one step: runs of small nodes (join_small), which are not counted as loops
  int64_t most;   // times that the blocks of one wait for each other in a step
  size_t shared;  // the most bytes of shared memory
} loops_seen;
// Adds a graph's. inside: also of the loops in the body of one that is no kernel.
void loops_look(gr_arena *, const gr_graph *, bool inside, loops_seen *);
