// threads.h - a rank's thread pool: the implementation of gr_cpu (ops/kernels/cpu.h).
#pragma once
#include "ops/kernels/cpu.h"

// Creates a pool of `threads` threads, the caller included: threads - 1 workers are started. A fork
// and join of workers that are awake costs about two transfers of a cache line. A worker sleeps
// after some tens of microseconds without work, and the caller then does the work of workers that
// have not woken up yet. oversubscribed: there are more threads than processors, so waiting does
// not spin. GR_ERR_LAUNCH if a thread cannot be started.
GR_MUST_USE gr_status gr_cpu_create(int threads, bool oversubscribed, gr_cpu **out);
void gr_cpu_destroy(gr_cpu *);  // NULL is fine
