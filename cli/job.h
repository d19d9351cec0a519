// job.h - a configured run: from the command line to a plan, before any rank does anything.
//
// gr_job_compose reads configuration only (milliseconds, no device, no data); gr_job_plan opens
// the data set and compiles for a number of ranks. Every rank of a run does both and gets the
// same plan; the hash is compared before step 0.
#pragma once
#include "cli/args.h"
#include "cli/dataset.h"
#include "cli/inputs.h"
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
  gr_mesh mesh;
  gr_plan *plan;
  gr_program_inputs *inputs;  // of the plan's programs, in their order
} gr_job;

GR_MUST_USE gr_status gr_job_compose(gr_arena *, const gr_args *, gr_job *out);
GR_MUST_USE gr_status gr_job_plan(gr_job *, int ranks);
// Errors for what the configuration says and nothing reads (accepted.c); after gr_job_plan.
GR_MUST_USE gr_status gr_job_accept(gr_arena *, gr_conf *root);
void gr_job_close(gr_job *);  // not the arena
