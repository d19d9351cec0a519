// job.h - a configured run: from the command line to a plan, before anything runs.
//
// gr_job_compose only reads configuration (milliseconds, no device, no data); gr_job_open opens the
// data set and gr_job_plan compiles, both for a number of ranks. Every rank calls all three; the
// configuration is then replaced by rank 0's, and data and the plan's hash are compared
// (same_inputs.h).
#pragma once
#include "compiler/compile.h"
#include "compose/compose.h"
#include "compose/schema/schema.h"
#include "job/args.h"
#include "job/effects.h"
#include "job/model_file.h"
#include "job/settings.h"
#include "runtime/train/spec.h"

typedef struct gr_job {
  gr_arena *arena;
  gr_args args;
  gr_composed composed;  // unresolved, for the run's folder
  gr_conf *graph;        // the model's file
  gr_model_file model;   // and what else it has
  gr_conf *blocks;       // gr_model_blocks, once for all plans of the job; NULL: not yet read
  int compilers;         // number of threads that compile; 0: one for each processor
  const char *fitted;    // what was chosen for training.memory, as a sentence; NULL: nothing
  int n_fitted;          // plans that were compiled to choose it
  bool unexpected;       // arguments name other data than data.expect, which is not used
  gr_run_spec spec;      // the result
} gr_job;

// Composes and checks the configuration, and reads the settings and the model's file.
GR_MUST_USE gr_status gr_job_compose(gr_arena *, const gr_args *, gr_job *out);
// What gr_job_compose refuses of a configuration that is composed and checked already, and a metric
// that the model's file has not: for runs that are started later, as other processes.
GR_MUST_USE gr_status gr_job_check(gr_arena *, const gr_args *, const gr_conf *);
// The same for the configuration that is kept in the run's folder args->config, to use its weights.
GR_MUST_USE gr_status gr_job_compose_kept(gr_arena *, const gr_args *, gr_job *out);
// The same of either: a configuration, or a run's folder.
GR_MUST_USE gr_status gr_job_compose_either(gr_arena *, const gr_args *, gr_job *out);
// The same for a configuration that is composed, resolved and checked already, such as rank 0's.
GR_MUST_USE gr_status gr_job_take(gr_job *, gr_conf *);
// The number of ranks that a command which starts none plans for: that of --ranks or of the
// configuration; for `auto` the GPUs of distributed.gpu_ids or one, and on CPUs what a run takes.
int gr_job_usual_ranks(const gr_job *);
bool gr_job_guesses_gpus(const gr_job *);  // whether that is a guess of how many GPUs there are
enum { GR_JOB_DIFFERENCES = GR_MAX_COMPAT + GR_MAX_DIFFERENCES + GR_MAX_EFFECTS + 2 };
// Lists, one line each, what settings of other programs became, and where a run differs from what
// the configuration asks for: keys without an effect, and what its device computes in another way.
// `devices` is their number; 0: the ranks run on CPUs. Returns the number of lines. Called after
// gr_job_take.
int gr_job_differences(gr_job *, int ranks, int devices, const char *out[GR_JOB_DIFFERENCES]);
// Sets what the ranks do, by the command line. Called before gr_job_open.
GR_MUST_USE gr_status gr_job_set_kind(gr_job *);
// Reads the settings, with what depends on the number of ranks and the device.
GR_MUST_USE gr_status gr_job_read(gr_job *, int ranks);
// The same, and opens the data set.
GR_MUST_USE gr_status gr_job_open(gr_job *, int ranks);
// What the plan is to be made from; calls gr_job_open first if that has not been called. Fails for
// keys of the configuration that nothing has read.
GR_MUST_USE gr_status gr_job_request(gr_job *, int ranks, gr_plan_request *out);
// Compiles and proves the plan; calls gr_job_open first if that has not been called. Fails for keys
// of the configuration that nothing has read.
GR_MUST_USE gr_status gr_job_plan(gr_job *, int ranks);
// The rest of gr_job_plan, once gr_plan_build has returned `built`, and if that is no error has
// made spec.plan from gr_job_request.
GR_MUST_USE gr_status gr_job_take_plan(gr_job *, gr_status built);
// Stores the texts of .hydra/config.yaml and the other saved files in spec. Afterwards the
// configuration trees may not be read any more.
void gr_job_keep_config(gr_job *);
// Stores the texts of about.json and plan.json in spec. Called after gr_job_plan.
void gr_job_keep_about(gr_job *);
void gr_job_close(gr_job *);  // closes the data set; does not free the arena
