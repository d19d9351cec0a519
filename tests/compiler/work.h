// work.h - how much a compilation does, by what neither the machine's speed nor its load changes:
// the basic blocks that it enters. compiler/ and ir/ are built for this test with
// -fsanitize-coverage=trace-pc, which calls a function at the beginning of each.
#pragma once
#include <stdatomic.h>

// What instrumented code calls at each basic block: counts it.
void __sanitizer_cov_trace_pc(void);

static atomic_ullong work_done;
// What instrumented code calls at each basic block: counts it.
void __sanitizer_cov_trace_pc(void) {
  atomic_fetch_add_explicit(&work_done, 1, memory_order_relaxed);
}
