// compile.h - from a model's YAML to a plan: every program, for every bucket.
#pragma once
#include "compiler/model.h"
#include "compiler/plan.h"

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
} gr_plan_request;

// Compiles, verifies and proves. States lie the same in all programs.
GR_MUST_USE gr_status gr_plan_build(gr_arena *, const gr_plan_request *, gr_plan **out);

// A program's graph, compiled, before it has a place in memory.
typedef struct gr_compiled {
  const char *kind, *bucket;
  const gr_graph *g;  // local
  gr_notes notes;
} gr_compiled;
// The plan of n programs: states, memory, hash, proof. What gr_plan_build ends with.
GR_MUST_USE gr_status gr_plan_link(gr_arena *, const gr_compiled *, uint32_t n, gr_plan **out);

// What the prove pass shows of a plan, again, from the plan alone: collective sequences are
// the same on all ranks, none is in a loop or under a condition that ranks may see
// differently, no two live values overlap, states lie alike in all programs.
GR_MUST_USE gr_status gr_plan_prove(const gr_plan *);

// For people: parameters, passes, memory by kind with the peak's node, collectives and why.
void gr_plan_explain(FILE *, const gr_plan *);
void gr_plan_dot(FILE *, const gr_program *);  // Graphviz
// The built-in blocks for people: names, first lines, params; one of them (false: there is none of
// that name); their names, in the arena.
void gr_blocks_list(FILE *);
bool gr_block_explain(FILE *, const char *name);
int gr_block_names(gr_arena *, const char **out, int most);
