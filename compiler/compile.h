// compile.h - from a model's YAML to a plan: every program, for every bucket.
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
  int threads;       // that compile; 0: one for each processor
} gr_plan_request;

// Compiles, verifies and proves. States lie the same in all programs. Programs are compiled on
// several threads; the plan and the errors are the same with any number of them.
GR_MUST_USE gr_status gr_plan_build(gr_arena *, const gr_plan_request *, gr_plan **out);

// A program's graph, compiled, before it has a place in memory.
typedef struct gr_compiled {
  const char *kind, *bucket;
  const gr_graph *g;  // local
  gr_notes notes;
} gr_compiled;
// The plan of n programs: states, memory, hash, proof. What gr_plan_build ends with.
GR_MUST_USE gr_status gr_plan_link(gr_arena *, const gr_compiled *, uint32_t n, gr_plan **out);
