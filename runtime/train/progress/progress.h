// progress.h - how far a run is: the steps and epochs that are completed, the place in the training
// data, and what the last step gave. Written by progress.c alone.
//
// Numbers: `step`, `epoch` and `batch` count what is completed, so they are also the index, from 0,
// of what comes next.
#pragma once
#include "runtime/train/scalars.h"

typedef struct gr_progress {
  // A step is a run of a program that trains, `batch` counts the runs of all programs within the
  // current epoch, which is a pass through the loop: without `loop:` they are one.
  int64_t step, epoch, batch;
  int64_t steps_per_epoch, runs_per_epoch, total_steps;
  int64_t data_epoch, data_batch;  // of the training data: the next batch
  int64_t skipped;                 // skipped steps in a row, up to the last one; 0: it was finite
  int64_t failing;                 // those of them that no smaller loss scale can explain
  int64_t all_skipped;             // steps that were skipped since the run began
  int searches;                    // of this process, for why a step was skipped
  const char *why;                 // what the first of them has found, in the run's arena; or NULL
  gr_metrics epoch_train;          // sums of the current epoch
  gr_metrics last;                 // of the last step, as all below
  double loss, grad_norm;
  bool has_grad_norm;
  double samples_per_s;  // of this process; 0: there was none
} gr_progress;

// At the beginning of a run, with the numbers of steps that the configuration asks for.
gr_progress gr_progress_begin(const gr_run_spec *);
// The same at another place: that of a checkpoint.
gr_progress gr_progress_at(const gr_progress *, int64_t step, int64_t epoch, int64_t batch);
// The states are those of a checkpoint after so many steps.
void gr_progress_restore(gr_progress *, int64_t step);
// A program has run, on a batch or NULL: its metrics, and the place in the data.
void gr_progress_add(gr_progress *, const gr_metrics *, const gr_batch *);
// It is a step: its results, and samples a second. loss: its metric's name; least_scale: the loss
// scale that does not become smaller.
void gr_progress_measure(gr_progress *, const gr_step_results *, const char *loss,
                         double least_scale, double samples_per_s);
// Why a step was skipped has been searched for; why: what was found, or NULL.
void gr_progress_searched(gr_progress *, const char *why);
// What the program's run has led to is done: it counts, trains: as a step.
void gr_progress_advance(gr_progress *, bool trains);
void gr_progress_end_epoch(gr_progress *);  // all of it is done: the next one begins

// Whether nothing speaks against the weights: the last step had a finite gradient, or its loss was
// finite and only the loss scale, which has room to shrink, too large.
bool gr_progress_is_sound(const gr_progress *);
// Whether too many steps in a row have been skipped for the run to go on.
bool gr_progress_is_lost(const gr_progress *);
// Whether all steps that the configuration asks for are done, and what follows the last one.
bool gr_run_is_done(const gr_progress *, const gr_loop_settings *);
// Whether all steps of an epoch are done but not its evaluation, hooks and records.
bool gr_run_epoch_open(const gr_progress *);
int64_t gr_run_last_epoch(const gr_progress *);  // from 0, of the last completed step
// The program that runs next: an index into the run's.
int gr_progress_next(const gr_progress *, const gr_phase *loop);
void gr_progress_scalars(gr_progress *, gr_scalar_table *);  // adds those of a checkpoint
