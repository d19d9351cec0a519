// link.h - links compiled programs into a plan: one layout of states, memory, hash, proof.
#pragma once
#include "compiler/plan/plan.h"

// A compiled program's graph, before memory planning.
typedef struct gr_compiled {
  const char *kind, *bucket;
  bool trains;  // as in gr_program, and the next ones
  unsigned frozen, freezable;
  int64_t minibatches, minibatch_rows;
  const gr_graph *g;  // of one rank
  bool gpu, tf32;     // gr_plan.gpu and .tf32; the same for all programs, as is what follows
  bool offload;       // moments go to gr_plan.host_bytes
  bool fetches;       // and weights that programs read copies of
  size_t reserved;    // gr_plan.reserved_bytes
  gr_notes notes;
} gr_compiled;
// Links n programs into a plan (states, memory, hash), and proves it.
GR_MUST_USE gr_status gr_plan_link(gr_arena *, const gr_compiled *, uint32_t n, gr_plan **out);
// The same on several threads (0: one for each processor), without the proof, and of a draft
// without the hash.
GR_MUST_USE gr_status gr_plan_link_on(gr_arena *, int threads, bool draft, const gr_compiled *,
                                      uint32_t n, gr_plan **out);
uint32_t gr_count_states(const gr_compiled *, uint32_t n);  // of n programs, each one's
gr_arena **gr_arenas_within(gr_arena *, uint32_t n);  // one for each program: threads share none
