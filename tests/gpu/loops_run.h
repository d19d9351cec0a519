// loops_run.h - runs graphs of loops on a device, and says what their loops are there.
#pragma once
#include "compiler/compile.h"
#include "runtime/exec/exec.h"

enum { LOOPS_MOST = 1 << 21 };  // of all numbers of a graph, and bytes of a value

// All numbers of the results and states of a graph, one after the other.
typedef struct loops_numbers {
  int64_t n;
  double value[LOOPS_MOST];
} loops_numbers;

// Runs a graph on a device so often, at last with values and before of zeros, so that what an
// earlier run left is not right; reads its results and states. Returns the nodes that were
// captured.
int loops_run(const gr_graph *, gr_arena *, const gr_device_ops *, int runs, loops_numbers *out);
// The largest difference of the numbers, of the largest number or 1; infinite where one has more.
double loops_worst(const loops_numbers *x, const loops_numbers *y);
// Whether they have the same bits.
bool loops_same(const loops_numbers *x, const loops_numbers *y);

// Numbers of the kernels of a graph's loops.
typedef struct loops_seen {
  int loops, kernels, waits;
  int small;      // of one step: runs of small nodes (join_small), which are not counted as loops
  int64_t most;   // times that the blocks of one wait for each other in a step
  size_t shared;  // the most bytes of shared memory
} loops_seen;
// Adds a graph's. inside: also of the loops in the body of one that is no kernel.
void loops_look(gr_arena *, const gr_graph *, bool inside, loops_seen *);
