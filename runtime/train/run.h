// run.h - one rank's part of a training run: its state, and the functions of runtime/train.
//
// All ranks execute the same sequence of steps, evaluations and saves. A decision that depends on
// what only one rank knows (hooks, signals, clocks, errors) is first combined by gr_run_agree, so
// that no rank enters a collective that another does not. Functions that are marked collective must
// be called by all ranks in the same order.
//
// Numbers: `step`, `epoch` and `batch` count what is completed, so they are also the index, from 0,
// of what comes next. Every function that fails gives the error of this rank, or GR_ERR_RANK if
// another rank has failed.
#pragma once
#include <string.h>
#include "base/work.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/lock.h"
#include "runtime/comm/comm.h"
#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "runtime/hooks/hooks.h"
#include "runtime/report/report.h"
#include "runtime/train/run_dir.h"
#include "runtime/train/spec.h"

enum { GR_MAX_METRICS = 64, GR_MAX_NORMS = 65 };

// What all ranks do next. Before gr_run_agree it is what this rank wants, afterwards what all do.
typedef struct gr_step_controls {
  double lr;
  bool stop;      // a hook requests it, or the last step is done
  bool save;      // a hook requests a checkpoint
  bool evaluate;  // a hook requests an evaluation
  bool finish;    // rank 0 has written its part of the pending checkpoint
  bool signal;    // a rank has received a signal to stop
  bool failed;    // a rank has failed
} gr_step_controls;

typedef struct gr_metric {
  const char *name;  // "loss", "cer"
  double sum, weight;
} gr_metric;
typedef struct gr_metrics {
  gr_metric at[GR_MAX_METRICS];
  int n;
} gr_metrics;

// The results of the programs of one step, or of one batch of an evaluation.
typedef struct gr_step_results {
  gr_metrics metrics;  // sums over the global batch
  double grad_norm;
  bool has_grad_norm;
  const gr_named *norms;  // of groups of weights that are clipped separately
  int n_norms;
  double loss_scale;  // after the step; NaN: there is none
  bool ok;            // false: a gradient was not finite, so the update was skipped
} gr_step_results;

// A program of the run.
typedef struct gr_run_program gr_run_program;
struct gr_run_program {
  const char *name;                      // "train", "rollout"
  const gr_program *at[GR_MAX_BUCKETS];  // by bucket; of one that takes no batch only the first
  const gr_program *update;  // with micro-batches: the program after those of at[]; or NULL
  bool trains, takes_batch;
  const char *loss;  // the name of its metric
  // The same program with weights frozen, n_variants of them; `frozen` is as in gr_program.
  // may_freeze: the patterns that match weights that the program trains.
  unsigned frozen, may_freeze;
  gr_run_program *variants;
  int n_variants;
};

typedef struct gr_samples gr_samples;
typedef struct gr_program_io gr_program_io;
typedef struct gr_sums gr_sums;

typedef struct gr_run {
  const gr_run_spec *spec;
  gr_comm *world, *axes[GR_MAX_MESH];
  int rank, ranks;
  int share, shares;  // this rank reads part `share` of the `shares` parts of every batch
  gr_exec *exec;
  gr_program_io *io;           // by program: where its inputs and results are (transfer.c)
  gr_run_program *programs;    // as in the spec
  const gr_run_program *eval;  // one of them; NULL: there is none
  gr_arena *arena;             // of this rank

  // Files and scripts. On ranks other than 0, hooks, log and lock are NULL.
  gr_hooks *hooks;
  gr_report *report;
  FILE *log;        // run.log
  const char *dir;  // outputs/DATE/TIME
  gr_lock *lock;    // on dir
  const char *ckpt_dir;
  gr_saver *saver;
  gr_tensor_slice *pieces;  // all states of this rank, for reading a checkpoint
  int n_pieces;
  gr_tensor_slice *saved;  // what this rank writes into a checkpoint
  int n_saved;
  char *full;  // memory for gathered states (full_state.c)
  size_t full_bytes;
  char *staging;  // host memory for one state, if the host cannot access the device's; else NULL
  size_t staging_bytes;

  // Progress. A step is a run of a program that trains, `batch` counts the runs of all programs
  // within the current epoch, which is a pass through the loop: without `loop:` they are one.
  int64_t step, epoch, batch;  // completed
  int64_t steps_per_epoch, runs_per_epoch, total_steps;
  int64_t data_epoch, data_batch;  // of the training data: the next batch
  int64_t skipped;                 // skipped steps in a row, up to the last one; 0: it was finite
  int64_t failing;                 // those of them that no smaller loss scale can explain
  int64_t all_skipped;             // steps that were skipped since the run began
  // The steps for which lr and on_before_optimizer were called, and the epoch and the step for
  // which on_epoch_start and on_eval_start were, so that they run once; -1: none.
  int64_t lr_step, optimizer_step, epoch_begun, eval_begun;
  double started, began;  // seconds since 1970; seconds of a monotonic clock
  double lr, loss, grad_norm;
  double set[GR_MAX_ADJUSTABLE];   // values that hooks may set, as in spec->adjust
  bool is_set[GR_MAX_ADJUSTABLE];  // by a hook
  double samples_per_s;            // of the last step of this process; 0: there was none
  bool has_grad_norm;
  gr_metrics last;           // of the last step
  const char *start;         // the checkpoint to resume from; NULL: none
  bool nothing_left;         // the run was finished before: nothing is computed or written
  const char *resumed_from;  // the checkpoint that this process has read, or NULL
  int64_t resumed_step;      // of that checkpoint; -1: there is none
  bool excepted;             // on_exception was called

  // Metrics and evaluations.
  const char *names[GR_MAX_METRICS];  // of metrics
  int n_names;
  gr_metrics epoch_train, validation, train_at_end;
  gr_sums *sums;                    // of evaluations; NULL: the model has no `report:`
  gr_samples *samples;              // shown of the last validation; NULL: none
  gr_tables tables, tables_at_end;  // of the last validation, and of the training set at the end
  int64_t eval_step;                // completed steps at the last evaluation; -1: there was none
  bool evaluated;                   // train_at_end and validation are those of the final state
  double best;                      // value of the metric; best_step and best_epoch say where
  int64_t best_step, best_epoch;
  double *bests;  // the best keep_best values of the metric, best first
  int n_bests, max_bests;
  bool among_best;    // the last evaluation is one of them
  int64_t pass_step;  // completed steps at the end of the last pass, if the metric is one of a pass
  double pass_value;  // the metric of that pass

  // The checkpoint in progress.
  int64_t saved_step;  // the step of the newest checkpoint, pending or committed; -1: none
  bool saving;         // a checkpoint has been begun and is not committed yet
  bool confirmed;      // a step from its state had a finite gradient: it may replace older ones
  bool owed;           // a checkpoint was due while steps were skipped

  gr_trace *trace;  // of the steps of profile.steps, while they run; else NULL

  // How the run ends.
  gr_hook_result asked;  // what hooks requested since the last agreement
  gr_status failure;     // of this rank; other ranks learn of it at the next agreement
  const char *ended;     // the reason, for results; NULL: it has not ended
  bool opened;           // ranks agree on stopping; before, each ends by itself (base/stop.h)
} gr_run;

// Whether all steps of an epoch are done but not its evaluation, hooks and records.
static inline bool gr_run_epoch_open(const gr_run *r) {
  return r->batch && r->batch == r->runs_per_epoch;
}

// The epoch, counted from 0, of the last completed step.
static inline int64_t gr_run_last_epoch(const gr_run *r) {
  return r->batch || !r->epoch ? r->epoch : r->epoch - 1;
}

// Whether the run has a folder that it writes to.
static inline bool gr_run_writes(const gr_run *r) {
  return r->spec->kind == GR_RUN_TRAIN && gr_exec_device(r->exec)->limits.computes;
}

// Whether the device computes nothing (device=null), so that no number of the run has a meaning.
static inline bool gr_run_is_dry(const gr_run *r) {
  return !gr_exec_device(r->exec)->limits.computes;
}

// ---- loop.c
// Runs all of one rank's part of the task, from opening files to results. Collective.
GR_MUST_USE gr_status gr_run_rank(const gr_run_spec *, gr_comm *world);
// Whether all steps that the configuration asks for are done.
bool gr_run_is_done(const gr_run *);
// ---- programs.c
GR_MUST_USE gr_status gr_run_find_programs(gr_run *);  // sets run->programs and run->eval
// ---- step.c
// The program that runs next, and its batch if it takes one, else NULL.
const gr_run_program *gr_run_next_program(const gr_run *);
GR_MUST_USE gr_status gr_run_next_batch(gr_run *, gr_loader *, const gr_batch **);
// Runs a program on a batch, NULL if it takes none, and reads its results.
GR_MUST_USE gr_status gr_run_compute(gr_run *, const gr_run_program *, const gr_batch *,
                                     gr_step_results *);
// Runs a program on a batch, and writes and reports what follows if that is a step.
GR_MUST_USE gr_status gr_run_step(gr_run *, const gr_run_program *, const gr_batch *);
// ---- hparams.c
// The hyper-parameters of the run, *n of them: values that files or arguments have set.
const gr_param *gr_run_hparams(gr_run *, int *n);
// ---- tracing.c: nothing happens unless steps are being traced
// Before each step: opens the trace of this rank, or writes it when its last step is done.
GR_MUST_USE gr_status gr_run_trace(gr_run *);
GR_MUST_USE gr_status gr_run_trace_end(gr_run *);  // writes it, if it is open
// A span of this rank from a time (gr_run_span_begin) until now; `name` is a constant.
double gr_run_span_begin(const gr_run *);
void gr_run_span(gr_run *, gr_trace_lane, const char *name, double from);
void gr_run_span_step(gr_run *, double from);  // of the step that has just run
// ---- dry_run.c
// Issues all steps, evaluations and copies of a run on a device that computes nothing but checks
// all accesses. Writes no files.
GR_MUST_USE gr_status gr_run_dry(gr_run *, gr_loader *);
// ---- sync.c
// How long work of this rank is shown before it trains: gr_work_begin.
gr_work_shown gr_run_work_shown(const gr_run *);
void gr_run_signals(void);    // installs handlers: SIGINT, TERM, HUP, USR1 and USR2 request a stop
bool gr_run_signalled(void);  // whether one has come
// What a rank that has not opened ends with, by the status of its part: tells the others.
GR_MUST_USE gr_status gr_run_stopped_opening(gr_run *, gr_status);
// Combines what the ranks want, and sets run->set to rank 0's. One small all_reduce. Collective.
GR_MUST_USE gr_status gr_run_agree(gr_run *, gr_step_controls *mine_then_all);
// Keeps an error of this rank for the next agreement, and takes ownership of it; GR_OK is fine.
void gr_run_set_failure(gr_run *, gr_status);
// An agreement on whether any rank has failed: this rank's failure, or GR_ERR_RANK. Collective.
GR_MUST_USE gr_status gr_run_check(gr_run *);
GR_MUST_USE gr_status gr_run_all_ok(void *run, bool ok, bool *all_ok);  // for gr_saver
GR_MUST_USE gr_status gr_run_broadcast_text(gr_run *, char *text, size_t size);
// The message of the first rank that has failed, "rank 3: TEXT", the same on all ranks. Collective.
GR_MUST_USE gr_status gr_run_cause(gr_run *, gr_status mine, char *text, size_t size);
GR_MUST_USE gr_status gr_run_check_same(gr_run *, uint64_t hash, const char *of_what);
// ---- state.c
void gr_run_list_pieces(gr_run *);  // sets run->pieces
// Reads all of run->pieces; exact: fails if the checkpoint has other tensors, too.
GR_MUST_USE gr_status gr_run_read_states(gr_run *, gr_checkpoint *, bool exact);
// Opens the saver, and sets all states: to their initial values, or from a checkpoint.
GR_MUST_USE gr_status gr_run_open_state(gr_run *);
// ---- start.c
// Chooses the checkpoint to resume from, run->start. Where the folder has a finished
// run, fails with GR_ERR_CHECKPOINT if that is of another identity, and sets run->nothing_left if
// it is not to be longer. Writes nothing. Collective.
GR_MUST_USE gr_status gr_run_find_start(gr_run *);
// The checkpoint to read, which rank 0 finds: the newest in dir, if there is one, or `given`.
// Empty: none. Collective.
GR_MUST_USE gr_status gr_run_choose_checkpoint(gr_run *, gr_resume what, const char *given,
                                               const char *dir, char *path, size_t size);
// ---- tables.c
GR_MUST_USE gr_status gr_run_load_tables(gr_run *);  // writes the data's tables to their states
// ---- contents.c: the table of what a checkpoint holds
typedef struct gr_run_contents {
  gr_arena *arena;
  const char *hooks;     // the states of scripts as text, or NULL
  bool exit_checkpoint;  // saved only because the run was stopped
  gr_scalar at[43 + GR_HOOK_LOGS + 4 * GR_MAX_METRICS + GR_MAX_ADJUSTABLE];
  int n;
} gr_run_contents;
void gr_run_contents_write(gr_run *, gr_run_contents *);
GR_MUST_USE gr_status gr_run_contents_read(gr_run *, gr_checkpoint *);
// Reads only what using the model takes: its states and the data's statistics.
GR_MUST_USE gr_status gr_run_weights_read(gr_run *, gr_checkpoint *);
// ---- saving.c
// The scalar that marks an exit checkpoint: one that is saved only because the run is stopped.
#define GR_RUN_EXIT_CHECKPOINT "run.passing"
// The identity of the run that wrote it (identity.h), and how many steps that was to have.
#define GR_RUN_IDENTITY "run.identity"
#define GR_RUN_TOTAL_STEPS "run.total_steps"
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
// Whether a checkpoint is due at this step, by the configuration or because a hook requests it.
bool gr_run_save_due(const gr_run *, bool asked);
void gr_run_prune_last(gr_run *);  // after the final evaluation, if its loss is finite
// The error of too many skipped steps in a row; and an error with a hint about skipped steps.
GR_MUST_USE gr_status gr_run_give_up(gr_run *);
GR_MUST_USE gr_status gr_run_hint_before(gr_run *, gr_status);
// ---- best.c
void gr_run_update_best(gr_run *);  // after an evaluation: sets best, bests and among_best
// Whether checkpoint.metric is one of a program of the loop: the mean over a pass. Then at the end
// of a pass the same is set, and pass_step and pass_value; returns among_best.
static inline bool gr_run_metric_is_of_pass(const gr_run *r) {
  return r->spec->looped && strchr(r->spec->set.metric, '.');
}
bool gr_run_update_pass_best(gr_run *);
const char *gr_run_bests(const gr_run *, gr_arena *);  // run->bests as text for a checkpoint
void gr_run_restore_bests(gr_run *, const char *);
// The slice of a state that a rank holds. `at` refers to this rank's memory of the state, on its
// device; gr_run_tensor_of gives it back.
gr_tensor_slice gr_run_tensor_slice(gr_run *, const gr_plan_state *, int rank);
// ---- equal.c
// Checks that ranks that hold the same slice of a state hold the same bits. Collective.
GR_MUST_USE gr_status gr_run_weights_equal(gr_run *);
// ---- full_state.c
// Whether a state is gathered on rank 0 for checkpoints, instead of being saved in slices.
bool gr_run_is_gathered(const gr_run *, const gr_plan_state *);
GR_MUST_USE gr_status gr_run_open_full(gr_run *);  // allocates memory for such states
// Such a state as one whole slice in rank 0's memory.
gr_tensor_slice gr_run_full_tensor_slice(gr_run *, const gr_plan_state *);
GR_MUST_USE gr_status gr_run_gather_full(gr_run *);  // gathers them. Collective.
// ---- init.c
// Loads weights by model.init_from; path[i] is the file or the checkpoint of entry i.
GR_MUST_USE gr_status gr_run_init_from(gr_run *, const char *const *path);
// ---- hook_calls.c
double gr_run_base_lr(const gr_run *);  // the next step's learning rate before hooks change it
GR_MUST_USE gr_status gr_run_open_hooks(gr_run *);
// Calls an event on rank 0. What scripts request is added to run->asked, an error is set in
// run->failure. False: the run is being stopped and a script was killed, so the event did not
// happen.
bool gr_run_hook(gr_run *, gr_hook_event, const gr_metrics *, const char *reason);
// Call on_epoch_start if an epoch begins, and lr and on_before_optimizer of the next step; each
// once, also if the run is resumed in between.
void gr_run_hook_epoch(gr_run *);
void gr_run_hook_step(gr_run *);
void gr_run_hook_exception(gr_run *, const char *reason);  // on_exception, once
// ---- end.c
// Saves the state and returns the error for which all ranks agreed to stop training or an
// evaluation.
GR_MUST_USE gr_status gr_run_exit_early(gr_run *, const gr_step_controls *);
GR_MUST_USE gr_status gr_run_end(gr_run *);  // the final evaluation, checkpoint and comparison
// Writes the final files, however the run ended: on rank 0 the error in run.log, and the results.
// Returns the status, joined with errors of this function.
GR_MUST_USE gr_status gr_run_write_final_files(gr_run *, gr_status);
// ---- eval.c
// Whether there is something to evaluate: a program that takes batches needs samples, one that
// takes none runs once for the validation split.
bool gr_run_can_eval(const gr_run *, gr_split);
// Runs the eval program over a split, and the report program. `samples` collects the predictions of
// the chosen samples, or is NULL. If the run is stopped meanwhile, fails with the state saved and
// *out unchanged. Collective.
GR_MUST_USE gr_status gr_run_eval(gr_run *, gr_split, gr_samples *samples, gr_metrics *out);
// A part of an evaluation, between gr_run_clear_sums and gr_run_report_sums.
GR_MUST_USE gr_status gr_run_eval_part(gr_run *, gr_split, gr_samples *samples, gr_metrics *out);
// The same with a function that is called for each batch, when its results can be read.
typedef struct gr_batch_taker {
  gr_status (*take)(void *self, const gr_batch *);
  void *self;
} gr_batch_taker;
GR_MUST_USE gr_status gr_run_eval_each(gr_run *, gr_split, const gr_batch_taker *, gr_metrics *out);
// Evaluates, with the samples that are shown (r->samples); unless this state has been evaluated
// before, writes records, calls hooks and updates the best. Collective.
GR_MUST_USE gr_status gr_run_validate(gr_run *);
void gr_run_log_validation(const gr_run *);  // a line for the console, if this step was evaluated
// ---- sums.c
GR_MUST_USE gr_status gr_run_open_sums(gr_run *);             // after the programs
void gr_run_clear_sums(gr_run *);                             // before an evaluation
GR_MUST_USE gr_status gr_run_add_sums(gr_run *, int bucket);  // after each batch
// After the last one: runs the report program, adds its metrics, and sets its tables.
GR_MUST_USE gr_status gr_run_report_sums(gr_run *, gr_metrics *);
// The tables of the last evaluation, valid until the next one; and a copy, under other names.
gr_tables gr_run_tables(const gr_run *);
gr_tables gr_tables_copy(gr_arena *, gr_tables, const char *prefix);
// ---- weights.c
// Finds the checkpoint of a run's folder: "best", "last" or a step. Not collective. dir: where its
// checkpoints are. The path is in the arena; GR_ERR_CHECKPOINT if there is none.
GR_MUST_USE gr_status gr_run_find_checkpoint(gr_arena *, const char *run, const char *dir,
                                             const char *which, const char **out);
GR_MUST_USE gr_status gr_run_use_weights(gr_run *);  // the tasks other than training. Collective.
// ---- predict.c
// Writes what the model predicts of the data set's samples, one JSON object a line. Collective.
GR_MUST_USE gr_status gr_run_predict(gr_run *);
// ---- generate.c
// Continues each sequence of the batch, with which the program has just been run, by so many
// tokens: *out is [rows, tokens], in the arena. GR_ERR_CONFIG if the model or the data has no
// tokens.
GR_MUST_USE gr_status gr_run_generate(gr_run *, gr_arena *, const gr_batch *, int64_t tokens,
                                      const int32_t **out);
// ---- transfer.c
// Looks up inputs and results of all programs once. Called after the executor is open.
GR_MUST_USE gr_status gr_run_open_transfers(gr_run *);
// Writes a program's inputs: a rank's rows of a batch, the learning rate, the micro-batch's index.
// The batch must not change before the results are read.
GR_MUST_USE gr_status gr_run_write_inputs(gr_run *, const gr_program *, const gr_batch *,
                                          int micro);
GR_MUST_USE gr_status gr_run_read_results(gr_run *, const gr_program *, gr_step_results *out);
const char *gr_run_metric_name(gr_run *, const char *name);  // interned: equal names, one pointer
// The name of a program's metric: those of train and eval have their own, others "PROGRAM.NAME".
const char *gr_run_metric_of(gr_arena *, const char *program, const char *name);
void gr_metrics_add(gr_metrics *sums, const gr_metrics *);
double gr_metric_value(const gr_metrics *, const char *name);  // sum / weight; NaN: no such metric
// Those whose weight is not 0, named; returns how many.
int gr_metrics_named(gr_arena *, const gr_metrics *, const char *prefix, gr_named *out);
// The device's tensor of a slice from gr_run_tensor_slice.
gr_exec_tensor gr_run_tensor_of(const gr_tensor_slice *);
// Copies a state, or a gathered one, to the host's memory; a callback of gr_saver.
GR_MUST_USE gr_status gr_run_fetch(void *run, const gr_tensor_slice *, void *to);
