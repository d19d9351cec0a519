// compile.h - the compiler's entry point: from a model's YAML to a plan with all programs.
//
//   gr_model_build    YAML -> graph of the global batch      once per program   (model/)
//   gr_compile        passes -> graph of one rank            once per program   (pipeline.c)
//   gr_memory_plan    graph -> offsets                       once per program   (plan/)
//   gr_prove_plan     plan -> accepted, or GR_ERR_BUG        once               (plan/)
//
// A run has one program per kind and bucket ("train.t300"), and "init", which sets all states. The
// same request gives the same plan, byte for byte, on every rank and machine.
#pragma once
#include "compiler/model/model.h"
#include "compiler/plan/plan.h"

typedef struct gr_bucket {
  const char *name;    // "t300"
  const gr_dim *dims;  // "t", "u", ... of this bucket
  int n_dims;
  const gr_batch_tensor *batch;  // of this bucket; NULL: see gr_model_request
  int n_batch;
} gr_bucket;

typedef struct gr_plan_request {
  gr_model_request model;  // dims: those that all buckets share ("n", "c"); purpose is ignored
  gr_options options;
  const gr_bucket *buckets;  // at least one; its name may be ""
  int n_buckets;
  bool train, eval;  // which programs, besides "init"
  int threads;       // to compile on; 0: one for each processor
} gr_plan_request;

// Builds, compiles and verifies every program, plans memory, and proves the plan. All programs
// share one layout of states. Programs are compiled on several threads; the plan and the errors do
// not depend on their number. The plan is in the arena.
GR_MUST_USE gr_status gr_plan_build(gr_arena *, const gr_plan_request *, gr_plan **out);

// A compiled program's graph, before memory planning.
typedef struct gr_compiled {
  const char *kind, *bucket;
  const gr_graph *g;  // of one rank
  bool gpu, tf32;     // gr_plan.gpu and .tf32; the same for all programs, as is what follows
  size_t reserved;    // gr_plan.reserved_bytes
  gr_notes notes;
} gr_compiled;
// The last part of gr_plan_build: links n programs into a plan (states, memory, hash, proof).
GR_MUST_USE gr_status gr_plan_link(gr_arena *, const gr_compiled *, uint32_t n, gr_plan **out);
