// run.h - one rank's part of a training run: what it works with, five parts that each own what they
// have, how long its steps waited for data, and the functions that need several of them. A field of
// a part is written only by the file of its header (progress.h: progress.c), which asserts what
// always holds of it and lists the scalars that a checkpoint has of it. All may read it.
//
// All ranks execute the same sequence of steps, evaluations and saves (control.h). Functions that
// are marked collective must be called by all ranks in the same order. Every function that fails
// gives the error of this rank, or GR_ERR_RANK if another rank has failed.
#pragma once
#include "runtime/train/control/control.h"
#include "runtime/train/evaluation/evaluation.h"
#include "runtime/train/outputs/files.h"
#include "runtime/train/outputs/outputs.h"
#include "runtime/train/saving/saving.h"
#include "runtime/train/waits.h"

typedef struct gr_straggler {  // of straggler.c
  int64_t looked;              // the step of the last look
  int found;                   // 1 + the rank that it found; 0: none
  double told;                 // when a rank was named, of gr_seconds; 0: none was
} gr_straggler;

typedef struct gr_run {
  gr_rank me;
  gr_progress progress;
  gr_evaluation evaluation;
  gr_saving saving;
  gr_control control;
  gr_outputs outputs;
  gr_waits waits;
  gr_straggler straggler;
} gr_run;

// ---- loop.c
// Runs all of one rank's part of the task, from opening files to results. Collective.
GR_MUST_USE gr_status gr_run_rank(const gr_run_spec *, gr_comm *world);
// ---- replay.c
// Runs the step that is replayed, and shows its values (gr_weights_spec). Collective. GR_ERR_USAGE
// if a pattern matches none, GR_ERR_DIFFERENT if they are compared and differ.
GR_MUST_USE gr_status gr_run_replay_step(gr_run *, const gr_run_program *, const gr_batch *,
                                         gr_step_results *);
// ---- log_start.c
// Logs what is trained, on which data, and where the run writes to.
void gr_run_log_start(gr_rank *, const gr_progress *, const char *dir);
// Logs where this rank runs, with logging.ranks=all.
void gr_run_log_rank(const gr_rank *);
// Logs how many samples are left out, and what else there is to say of the data.
void gr_run_log_data(gr_rank *);
// ---- step.c
// The program that runs next.
const gr_run_program *gr_run_next_program(const gr_rank *, const gr_progress *);
// The one after that; NULL: something else comes first, or nothing.
const gr_run_program *gr_run_program_after(const gr_rank *, const gr_progress *);
// Its batch, until the loader's next one; NULL: it takes none, or this process is asked to stop.
GR_MUST_USE gr_status gr_run_next_batch(const gr_rank *, const gr_progress *, gr_loader *,
                                        const gr_batch **);
// Runs a program on a batch, and writes and reports what follows if that is a step.
GR_MUST_USE gr_status gr_run_step(gr_run *, const gr_run_program *, const gr_batch *);
// ---- straggler.c
// The rank that is slowest without its communication, if it takes a third longer than the median;
// -1: none. *out_times: how many times that; *out_data: because it waits for data. Works in the
// arena.
int gr_run_find_straggler(gr_arena *, const gr_time_split *ranks, int n, double *out_times,
                          bool *out_data);
// Every 50 steps: logs such a rank, at most once a minute. Collective.
GR_MUST_USE gr_status gr_run_name_straggler(gr_run *);
// ---- remaining.c
// What interrupts the steps after the one that has just been run, until the end of the run.
gr_eta_rest gr_run_remaining(const gr_run *);
// An evaluation, and what followed it, has taken so long.
void gr_run_evaluated(gr_run *, double seconds);
// ---- dry_run.c
// Issues all steps, evaluations and copies of a run on a device that computes nothing but checks
// all accesses. Writes no files.
GR_MUST_USE gr_status gr_run_dry(gr_run *, gr_loader *);
// ---- open_state.c
// Opens the saver, and sets all states: to their initial values, or from a checkpoint.
GR_MUST_USE gr_status gr_run_open_state(gr_run *);
// ---- start.c
// Chooses the checkpoint to resume from. Where the folder has a finished run, fails with
// GR_ERR_CHECKPOINT if that is of another identity; *nothing_left: it is this run, and not to be
// longer: nothing is to be computed or written. Writes nothing. Collective.
GR_MUST_USE gr_status gr_run_find_start(gr_run *, bool *nothing_left);
// The checkpoint to read, which rank 0 finds: the newest in dir, if there is one, or `given`.
// Empty: none. In the run's arena. Collective.
GR_MUST_USE gr_status gr_run_choose_checkpoint(gr_rank *, gr_resume what, const char *given,
                                               const char *dir, const char **path);
// ---- contents.c: the table of what a checkpoint holds
// Lists all scalars of a checkpoint of this state.
void gr_run_contents_write(gr_run *, gr_scalars_out *);
// Reads a checkpoint into this state: progress, all tensors, and the scalars of every part.
GR_MUST_USE gr_status gr_run_contents_read(gr_run *, gr_checkpoint *);
// Reads only what using the model takes: its states and the data's statistics.
GR_MUST_USE gr_status gr_run_weights_read(gr_run *, gr_checkpoint *);
// The global batch, or "24, 16, 8", that of each bucket.
const char *gr_run_batches(const gr_rank *, gr_arena *);
// ---- checkpoints.c
// Begins a checkpoint. A run that resumes from an exit checkpoint must leave the same files as one
// that was never stopped, so hooks are not called for it, and the next checkpoint replaces it.
GR_MUST_USE gr_status gr_run_save(gr_run *, bool exit_checkpoint);
// The same, unless the last step was skipped: then a checkpoint is begun after the next good step.
GR_MUST_USE gr_status gr_run_save_finite(gr_run *);
// Commits the pending checkpoint, and prunes if it is confirmed; abandons it if every step from its
// state has been skipped. Collective.
GR_MUST_USE gr_status gr_run_save_finish(gr_run *);
// Saves the state unless it is saved already, and waits. Collective; GR_ERR_IO on all ranks.
GR_MUST_USE gr_status gr_run_save_last(gr_run *, bool exit_checkpoint);
void gr_run_prune_last(gr_run *);  // after the final evaluation, if its loss is finite
// The error of too many skipped steps in a row.
GR_MUST_USE gr_status gr_run_give_up(gr_run *);
// An error with the hint how to continue from a checkpoint of before the steps were skipped.
GR_MUST_USE gr_status gr_run_hint_before(gr_run *, gr_status);
// ---- hook_calls.c
// The next step's learning rate before hooks change it.
double gr_run_base_lr(const gr_rank *, const gr_progress *);
// Calls an event on rank 0. What scripts request, and an error, goes to run->control. False: the
// run is being stopped and a script was killed, so the event did not happen.
bool gr_run_hook(gr_run *, gr_hook_event, const gr_metrics *, const char *reason);
// Calls on_epoch_start if an epoch begins, once, also if the run is resumed in between.
void gr_run_hook_epoch(gr_run *);
// Calls the events lr and on_before_optimizer of the next step, each once, likewise; the second
// only if the first happened.
void gr_run_hook_step(gr_run *);
void gr_run_hook_exception(gr_run *, const char *reason);  // on_exception, once
// ---- end.c
// Saves the state and returns the error for which all ranks agreed to stop training or an
// evaluation.
GR_MUST_USE gr_status gr_run_exit_early(gr_run *, const gr_step_controls *);
// An agreement on going on: if a rank has failed or is asked to stop, the error of
// gr_run_exit_early. Long phases after the first step call it between their parts, and end a part
// early when gr_run_signalled. Collective.
GR_MUST_USE gr_status gr_run_go_on(gr_run *);
// Logs how many samples weighed 0 because they could not be read.
void gr_run_log_weightless(const gr_rank *);
GR_MUST_USE gr_status gr_run_end(gr_run *);  // the final evaluation, checkpoint and comparison
// Writes the final files, however the run ended: on rank 0 the error in run.log, and the results.
// Returns the status, joined with errors of this function.
GR_MUST_USE gr_status gr_run_write_final_files(gr_run *, gr_status);
// ---- eval.c
// Runs the eval program over a split, and the report program. `samples` collects the predictions of
// the chosen samples and `mistakes` those that are most wrong, or is NULL. If the run is stopped
// meanwhile, fails with the state saved and *out unchanged. Collective.
GR_MUST_USE gr_status gr_run_eval(gr_run *, gr_split, gr_samples *samples, gr_mistakes *mistakes,
                                  gr_metrics *out);
// The same in parts: before the first, what is measured of all samples together is set to nothing.
void gr_run_eval_begin(gr_run *);
// After the last, it is added to the metrics. Collective.
GR_MUST_USE gr_status gr_run_eval_end(gr_run *, gr_metrics *);
// One of them.
GR_MUST_USE gr_status gr_run_eval_part(gr_run *, gr_split, gr_samples *samples,
                                       gr_mistakes *mistakes, gr_metrics *out);
// A function that is called for each batch of an evaluation, when its results can be read.
typedef struct gr_batch_taker {
  gr_status (*take)(void *self, const gr_batch *);
  void *self;
} gr_batch_taker;
// Runs the eval program over a split, and calls `taker` for each batch; *out are the sums.
// Collective.
GR_MUST_USE gr_status gr_run_eval_each(gr_run *, gr_split, const gr_batch_taker *, gr_metrics *out);
// Evaluates, with the samples that are shown; unless this state has been evaluated before, writes
// records, calls hooks and updates the best. Collective.
GR_MUST_USE gr_status gr_run_validate(gr_run *);
void gr_run_log_validation(const gr_run *);  // a line for the console, if this step was evaluated
// ---- weights.c
// Finds the checkpoint of a run's folder: "best", "last" or a step. Not collective. dir: where its
// checkpoints are. The path is in the arena; GR_ERR_CHECKPOINT if there is none.
GR_MUST_USE gr_status gr_run_find_checkpoint(gr_arena *, const char *run, const char *dir,
                                             const char *which, const char **out);
GR_MUST_USE gr_status gr_run_use_weights(gr_run *);  // the tasks other than training. Collective.
// ---- predict.c
// Writes what the model predicts of the data set's samples, one JSON object a line. Collective.
GR_MUST_USE gr_status gr_run_predict(gr_run *);
