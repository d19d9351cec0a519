// job.h - a configured run: from the command line to a plan, before any rank does anything.
//
// gr_job_compose reads configuration only (milliseconds, no device, no data); gr_job_open opens the
// data set and gr_job_plan compiles, for a number of ranks. Every rank of a run does all three; the
// configuration is then rank 0's (same.h), data are compared, and so is the plan's hash.
#pragma once
#include "cli/args.h"
#include "cli/mesh.h"
#include "cli/settings.h"
#include "compiler/compile.h"
#include "compose/compose.h"
#include "runtime/train/spec.h"

typedef struct gr_job {
  gr_arena *arena;
  gr_args args;
  gr_composed composed;  // unresolved, for the run's folder
  gr_conf *graph;        // the model's file
  gr_options options;
  gr_mesh_config mesh_config;
  int compilers;     // threads that compile; 0: one for each processor
  gr_run_spec spec;  // what the ranks run by
} gr_job;

GR_MUST_USE gr_status gr_job_compose(gr_arena *, const gr_args *, gr_job *out);
// Takes a configuration that is composed, resolved and checked; reads settings and the model's
// file.
GR_MUST_USE gr_status gr_job_take(gr_job *, gr_conf *);
GR_MUST_USE gr_status gr_job_open(gr_job *, int ranks);  // settings for so many; the data set
GR_MUST_USE gr_status gr_job_plan(gr_job *, int ranks);  // opens, unless that is done
// Errors for what the configuration says and nothing reads (accepted.c); after gr_job_plan.
GR_MUST_USE gr_status gr_job_accept(gr_arena *, gr_conf *root);
// The texts of .hydra/config.yaml and its neighbours, in spec; nothing else may read the trees
// then.
void gr_job_keep_config(gr_job *);
void gr_job_close(gr_job *);  // not the arena
