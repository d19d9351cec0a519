// figures.h - what a plan amounts to, counted once: text, JSON, plan files, comparisons and tables
// print from this value.
#pragma once
#include "compiler/plan/plan.h"
#include "compiler/plan/traffic.h"
#include "compiler/report/chips.h"

enum { GR_MAX_TARGETS = 8, GR_MAX_MOVES = 8 };

// The predicted seconds of a program or a step. Collectives, and copies of weights in host memory,
// run beside kernels on GPUs: `hidden` is the part of theirs in which something else runs, and
// `all` what is left from the first to the last.
typedef struct gr_predicted {
  double kernels, collectives, copies, hidden, all;
  double besides;  // of a step on a CPU: what it does beside its programs
} gr_predicted;

typedef struct gr_move {  // the collectives of an op
  const char *op;
  gr_traffic traffic;
} gr_move;

typedef struct gr_bytes_of {
  const char *name;
  double bytes;
} gr_bytes_of;

typedef struct gr_program_figures {
  const gr_program *program;
  double launches, bytes, flops;       // of kernels, and what they read and write
  double linked;                       // and what they read in host memory, over the link
  double barriers;                     // waits of all blocks of a kernel for each other
  double apart_launches, apart_bytes;  // of GPUs, if parts of fused nodes were nodes
  const char *missing[8];              // n_missing ops without a kernel for GPUs
  int n_missing;
  gr_traffic all, by_axis[GR_MAX_MESH];
  gr_move moves[GR_MAX_MOVES];  // n_moves
  int n_moves;
  const gr_bytes_of *makers;  // n_makers passes, by what is live of them at the peak
  int n_makers;
  gr_predicted seconds[GR_MAX_TARGETS];  // by target
  double runs;                           // in a step
} gr_program_figures;

typedef struct gr_kind_figures {
  int64_t count, numbers;  // states, and their elements on all ranks
  double bytes;            // on a rank
} gr_kind_figures;

// The batch of a bucket, where they differ.
typedef struct gr_bucket_figures {
  const char *name;
  int samples, rows;  // of all ranks in a step; of a rank in a micro-step
  double bytes;       // that a rank allocates for its programs
} gr_bucket_figures;

// How often programs run, which the plan alone does not say.
typedef struct gr_plan_use {
  const double *runs;                // by program, in a step, on average
  double samples, steps;             // samples of a step, and steps of an epoch; 0: not known
  bool in_line;                      // collectives do not run beside kernels
  const gr_bucket_figures *buckets;  // n_buckets; 0: all have the same batch
  int n_buckets;
  int threads;  // to count on; 0: one for each processor
} gr_plan_use;

typedef struct gr_plan_figures {
  const gr_plan *plan;
  int ranks;
  int64_t parameters, trained;
  gr_kind_figures kinds[GR_KIND_COUNT];
  double bytes;  // all that a rank allocates
  gr_program_figures *programs;
  const gr_target *targets;  // n_targets that times are predicted for
  int n_targets;
  gr_plan_use use;
  double launches, collectives, sent;  // of a step
  gr_predicted step[GR_MAX_TARGETS];
} gr_plan_figures;

extern const char *const gr_kind_names[GR_KIND_COUNT];  // in reports: "weights", "optimizer"

// Counts a plan. targets: up to GR_MAX_TARGETS of the plan's device, or NULL: all chips of it, each
// in its usual cluster. use: borrowed; NULL: it is not known how often programs run.
const gr_plan_figures *gr_plan_count(gr_arena *, const gr_plan *, const gr_plan_use *use,
                                     const gr_target *targets, int n_targets);
// Of the program that a report shows of a kind (gr_plan_largest).
const gr_program_figures *gr_figures_largest(const gr_plan_figures *, const char *kind);
