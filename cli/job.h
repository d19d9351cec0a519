// job.h - a configured run: from the command line to a plan, before any rank does anything.
//
// gr_job_compose reads configuration only (milliseconds, no device, no data); gr_job_open opens the
// data set and gr_job_plan compiles, for a number of ranks. Every rank of a run does all three; the
// configuration is then rank 0's (same.h), data are compared, and so is the plan's hash.
#pragma once
#include "cli/args.h"
#include "cli/dataset.h"
#include "cli/inputs.h"
#include "cli/mesh.h"
#include "cli/settings.h"
#include "compiler/compile.h"
#include "compose/compose.h"

typedef struct gr_job {
  gr_arena *arena;
  gr_args args;
  gr_composed composed;  // unresolved, for the run's folder
  gr_conf *conf;         // resolved and checked
  gr_conf *graph;        // the model's file
  const char *run_dir;   // hydra.run.dir, where someone has set it
  gr_dataset *data;
  gr_settings set;
  gr_options options;
  gr_placement place;
  gr_plan *plan;
  gr_program_inputs *inputs;  // of the plan's programs, in their order
  size_t launch_bytes, plan_bytes;  // memory that opening the world and compiling took
} gr_job;

GR_MUST_USE gr_status gr_job_compose(gr_arena *, const gr_args *, gr_job *out);
// Takes a configuration that is composed, resolved and checked; reads settings and the model's
// file.
GR_MUST_USE gr_status gr_job_take(gr_job *, gr_conf *);
GR_MUST_USE gr_status gr_job_open(gr_job *, int ranks);  // settings for so many; the data set
GR_MUST_USE gr_status gr_job_plan(gr_job *, int ranks);  // opens, unless that is done
// Errors for what the configuration says and nothing reads (accepted.c); after gr_job_plan.
GR_MUST_USE gr_status gr_job_accept(gr_arena *, gr_conf *root);
void gr_job_close(gr_job *);  // not the arena
