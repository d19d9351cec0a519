// threads.h - a rank's threads: what a gr_cpu (ops/kernels/cpu.h) is made of.
#pragma once
#include "ops/kernels/cpu.h"

// `threads` in all: the calling thread and threads - 1 workers. A hot fork and join costs
// about as much as two cache lines take to travel; a worker that had nothing to do for some
// tens of microseconds sleeps, and the next caller does the work of those that are not
// awake yet. crowded: there are more threads than processors, so that waiting must not spin.
GR_MUST_USE gr_status gr_cpu_create(int threads, bool oversubscribed, gr_cpu **out);
void gr_cpu_destroy(gr_cpu *);  // NULL is fine
