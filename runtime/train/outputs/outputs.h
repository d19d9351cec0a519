// outputs.h - where a run writes to and what it calls: its folder, run.log, the report and the
// hooks. Written by outputs.c alone. On ranks other than 0, hooks, log and lock are NULL.
#pragma once
#include "runtime/checkpoint/lock.h"
#include "runtime/hooks/hooks.h"
#include "runtime/report/report.h"
#include "runtime/train/progress/progress.h"

typedef struct gr_outputs {
  const char *dir;  // outputs/DATE/TIME
  gr_lock *lock;    // on dir
  FILE *log;        // run.log
  gr_hooks *hooks;
  gr_report *report;  // NULL: the run has not started
} gr_outputs;

// Makes the run's folder, or takes the one that is configured, and locks it. Collective. GR_ERR_IO.
GR_MUST_USE gr_status gr_run_open_dir(gr_outputs *, gr_rank *);
// Opens run.log in the folder, once it is known that the run goes on.
GR_MUST_USE gr_status gr_run_open_log(gr_outputs *, gr_rank *);
// Starts the process of the scripts, on rank 0.
GR_MUST_USE gr_status gr_run_open_hooks(gr_outputs *, gr_rank *);
// Opens the report. If a resumed run has the same folder as the run that it continues, that run's
// files are kept; eval_open: but not an evaluation of this step.
GR_MUST_USE gr_status gr_run_open_report(gr_outputs *, gr_rank *, const gr_progress *,
                                         bool eval_open);
void gr_outputs_close(gr_outputs *);   // all but the lock
void gr_outputs_unlock(gr_outputs *);  // when nothing is written any more
// Whether a script handles the event. On other ranks than 0 no script runs.
bool gr_outputs_has_hook(const gr_outputs *, gr_hook_event);
double gr_run_patience(const gr_rank *);  // seconds to wait for another run to release a folder
// Stores, for the launcher, how to go on if a rank dies: from a checkpoint, if one is saved.
void gr_run_set_resume_hint(const gr_outputs *, const gr_rank *, bool saved);
void gr_outputs_scalars(gr_outputs *, gr_scalar_table *);  // adds those of a checkpoint
