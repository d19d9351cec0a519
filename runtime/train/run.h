// run.h - one rank's part of a training run.
//
// All ranks walk through the same steps; whatever is decided from what one rank alone knows
// (hooks, signals, clocks, errors) goes through gr_run_agree first, so that no rank ever
// enters a collective that another does not.
#pragma once
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/lock.h"
#include "runtime/comm/comm.h"
#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "runtime/hooks/hooks.h"
#include "runtime/report/report.h"
#include "runtime/train/spec.h"

enum { GR_MAX_METRICS = 16 };

// What all ranks do next, after they have agreed.
typedef struct gr_step_controls {
  double lr;
  bool stop;    // a hook asked, or the run is at its end
  bool save;    // a hook asked
  bool finish;  // rank 0's part of the pending checkpoint is written
  bool signal;  // some rank was told to stop
  bool failed;  // some rank cannot go on
} gr_step_controls;

typedef struct gr_metric {
  const char *name;  // "loss", "cer"
  double sum, weight;
} gr_metric;
typedef struct gr_metrics {
  gr_metric at[GR_MAX_METRICS];
  int n;
} gr_metrics;

// What a program leaves of a step or of a batch.
typedef struct gr_step_results {
  gr_metrics metrics;  // sums over the global batch
  double grad_norm;
  bool has_grad_norm;
  bool ok;  // the gradient was finite, or there is none
} gr_step_results;

typedef struct gr_samples gr_samples;
typedef struct gr_program_io gr_program_io;

typedef struct gr_run {
  const gr_run_spec *spec;
  gr_comm *world, *axes[GR_MAX_MESH];
  int rank, ranks;
  int share, shares;  // of each batch this rank reads that part, of so many
  gr_exec *exec;
  gr_program_io *io;  // of the plan's programs: transfer.c's
  const gr_program *train[GR_MAX_BUCKETS], *eval[GR_MAX_BUCKETS];  // by bucket
  const gr_program *update;  // of a step in micro-steps, which train[] are then; or NULL
  gr_saver *saver;
  gr_hooks *hooks;  // rank 0
  gr_report *report;
  FILE *log;                // run.log, of rank 0
  const char *dir;          // outputs/DATE/TIME
  gr_lock *lock;            // on it, of rank 0
  gr_arena *arena;          // this rank's own
  gr_tensor_slice *pieces;  // all states of this rank, for reading
  int n_pieces;
  gr_tensor_slice *saved;  // what this rank writes into a checkpoint
  int n_saved;
  char *full;  // full_state.c's memory
  size_t full_bytes;
  char *staging;  // for one state, on devices whose memory the host does not reach; else NULL
  size_t staging_bytes;
  const char *names[GR_MAX_METRICS];  // of metrics
  int n_names;
  int64_t step, epoch, batch;  // done; `batch` of the epoch at hand
  int64_t steps_per_epoch, total_steps;
  gr_metrics epoch_train, validation, train_at_end;
  double lr, loss, grad_norm, best;
  bool has_grad_norm;
  int64_t lr_step;        // for which hooks have set lr: they are asked once for each; -1: none
  double started, began;  // since 1970; by a clock that never jumps
  int64_t best_step, best_epoch, skipped, saved_step;
  int64_t eval_step;     // steps done at the last evaluation; -1: there was none
  bool evaluated;        // train_at_end and validation are of the end
  gr_hook_result asked;  // by hooks since the last agreement
  bool saving;           // a checkpoint is begun, and not committed
  bool confirmed;        // a step after it had a finite gradient
  bool owed;             // one was due while steps were skipped
  double *bests;         // the best keep_best values of the metric, best first
  int n_bests, max_bests;
  bool among_best;  // the last evaluation's is one of them
  const char *ckpt_dir;
  gr_status failure;  // of this rank alone; the others hear of it at the next agreement
  const char *ended;
} gr_run;

// All steps of an epoch are done, and what its end brings (evaluation, hooks, rows) is not.
static inline bool gr_run_epoch_open(const gr_run *r) {
  return r->batch && r->batch == r->steps_per_epoch;
}

// The epoch, counted from 0, of the step done last.
static inline int64_t gr_run_last_epoch(const gr_run *r) {
  return r->batch || !r->epoch ? r->epoch : r->epoch - 1;
}

// The device computes nothing, so that nothing of the run means anything.
static inline bool gr_run_is_dry(const gr_run *r) {
  return !gr_exec_device(r->exec)->limits.computes;
}

// ---- loop.c
GR_MUST_USE gr_status gr_run_rank(const gr_run_spec *, gr_comm *world);
// Runs the programs of a step on a batch and reads what they leave.
GR_MUST_USE gr_status gr_run_compute(gr_run *, const gr_batch *, gr_step_results *);
// ---- dry_run.c
// All of a run on a device that computes nothing, which checks it; writes nothing.
GR_MUST_USE gr_status gr_run_dry(gr_run *, gr_loader *);
// ---- files.c
GR_MUST_USE gr_status gr_run_open_dir(gr_run *);
double gr_run_patience(const gr_run *);  // seconds to wait for another run to let go of a folder
// What the configuration says otherwise than that of the run which wrote the checkpoint.
void gr_run_log_config_changes(gr_run *, const char *checkpoint);
GR_MUST_USE gr_status gr_run_save_config(gr_run *);  // as Hydra keeps it
// ---- sync.c
void gr_run_signals(void);  // from now on SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 ask for a stop
bool gr_run_signalled(void);
GR_MUST_USE gr_status gr_run_agree(gr_run *, gr_step_controls *mine_then_all);
// Keeps an error of this rank for the next agreement; GR_OK is fine.
void gr_run_set_failure(gr_run *, gr_status);
// An agreement on nothing else than whether all can go on: this rank's failure, or GR_ERR_RANK.
GR_MUST_USE gr_status gr_run_check(gr_run *);
GR_MUST_USE gr_status gr_run_all_ok(void *run, bool ok, bool *all_ok);  // for gr_saver
GR_MUST_USE gr_status gr_run_broadcast_text(gr_run *, char *text, size_t size);
// The message of the first rank that has failed, "rank 3: TEXT", the same on all; collective.
GR_MUST_USE gr_status gr_run_cause(gr_run *, gr_status mine, char *text, size_t size);
GR_MUST_USE gr_status gr_run_check_same(gr_run *, uint64_t hash, const char *of_what);
// ---- state.c
GR_MUST_USE gr_status gr_run_read_states(gr_run *, gr_checkpoint *);  // all pieces
GR_MUST_USE gr_status gr_run_open_state(gr_run *);  // pieces, saver; initial values or a checkpoint
// ---- contents.c: the table of what a checkpoint holds
typedef struct gr_run_contents {
  gr_arena *arena;
  const char *hooks;     // their states as text, or NULL
  bool exit_checkpoint;  // saved only because the run was stopped
  gr_scalar at[32 + GR_HOOK_LOGS + 3 * GR_MAX_METRICS];
  int n;
} gr_run_contents;
void gr_run_contents_write(gr_run *, gr_run_contents *);
GR_MUST_USE gr_status gr_run_contents_read(gr_run *, gr_checkpoint *);
// ---- saving.c
#define GR_RUN_EXIT_CHECKPOINT \
  "run.passing"  // a scalar of what was saved only because the run was stopped
// Begins a checkpoint. passing: only because the run is stopped here. A run that goes on from it
// leaves what one that was never stopped does, so hooks do not hear of it, and the next takes
// its place.
GR_MUST_USE gr_status gr_run_save(gr_run *, bool exit_checkpoint);
// The same, unless the last step was skipped: then one is owed after the next that is not.
GR_MUST_USE gr_status gr_run_save_finite(gr_run *);
// Commits the one that was begun, and prunes if it is confirmed; abandons it if steps from it were
// skipped so far.
GR_MUST_USE gr_status gr_run_save_finish(gr_run *);
// Saves what is not saved yet, and waits. Fails with GR_ERR_IO, on all ranks, where it cannot.
GR_MUST_USE gr_status gr_run_save_last(gr_run *, bool exit_checkpoint);
bool gr_run_save_due(const gr_run *, bool asked);  // at this step, by the configuration or a hook
void gr_run_prune_last(gr_run *);  // after the closing evaluation, if that says the state is sound
// The error of too many skipped steps in a row; and what to do after skipped steps, as a hint.
GR_MUST_USE gr_status gr_run_give_up(gr_run *);
GR_MUST_USE gr_status gr_run_hint_before(gr_run *, gr_status);
// ---- best.c
void gr_run_update_best(gr_run *);  // after an evaluation: best, bests, among_best
const char *gr_run_bests(const gr_run *, gr_arena *);  // as text for a checkpoint
void gr_run_restore_bests(gr_run *, const char *);
// The slice of a state that a rank holds; `at` is where this rank has its own, on its device.
gr_tensor_slice gr_run_tensor_slice(gr_run *, const gr_plan_state *, int rank);
// ---- equal.c
GR_MUST_USE gr_status gr_run_weights_equal(gr_run *);  // copies of a state are the same bits
// ---- full_state.c
bool gr_run_is_gathered(const gr_run *, const gr_plan_state *);  // for checkpoints, by rank 0
GR_MUST_USE gr_status gr_run_open_full(gr_run *);                // room for it
gr_tensor_slice gr_run_full_tensor_slice(gr_run *,
                                         const gr_plan_state *);  // of such a state, on rank 0
GR_MUST_USE gr_status gr_run_gather_full(gr_run *);  // brings them together; collective
// ---- init.c
GR_MUST_USE gr_status gr_run_init_from(gr_run *, const char *path);  // model.init_from
// ---- hook_calls.c
double gr_run_base_lr(const gr_run *);  // what the configuration alone makes of the next step's
GR_MUST_USE gr_status gr_run_open_hooks(gr_run *);
// Calls an event on rank 0; what it asks for waits in run->asked, its error in run->failure. False:
// the run is to stop, and a script that did not end was cut off: the event has not happened.
bool gr_run_hook(gr_run *, gr_hook_event, const gr_metrics *, const char *reason);
// ---- end.c
// Leaves training or an evaluation early, with the state saved: what all agreed to stop for.
GR_MUST_USE gr_status gr_run_exit_early(gr_run *, const gr_step_controls *);
GR_MUST_USE gr_status gr_run_end(gr_run *);
// Leaves what the run says of its end, however it ended: on rank 0 the error in run.log, results.
// Gives the status back, with what went wrong here.
GR_MUST_USE gr_status gr_run_write_final_files(gr_run *, gr_status);
// ---- eval.c
// Runs the eval program over a split; `samples` takes the chosen ones' answers, or is NULL. Fails,
// with the state saved, where the run is told to stop before its end; *out is then as it was.
GR_MUST_USE gr_status gr_run_eval(gr_run *, gr_split, gr_samples *samples, gr_metrics *out);
// Evaluates, and where this state has not been evaluated before, tells files, hooks and the best.
GR_MUST_USE gr_status gr_run_validate(gr_run *, gr_samples *);
void gr_run_log_validation(const gr_run *);  // one line for people, if there was one at this step
// ---- transfer.c
GR_MUST_USE gr_status gr_run_open_transfers(gr_run *);  // after the executor
// Writes a program's inputs: a rank's rows of a batch, the learning rate, the micro-step's number.
// They must stay as they are until results are read.
GR_MUST_USE gr_status gr_run_write_inputs(gr_run *, const gr_program *, const gr_batch *,
                                          int micro);
GR_MUST_USE gr_status gr_run_read_results(gr_run *, const gr_program *, gr_step_results *out);
const char *gr_run_metric_name(gr_run *, const char *name);  // the one text of that name
void gr_metrics_add(gr_metrics *sums, const gr_metrics *);
double gr_metric_value(const gr_metrics *, const char *name);  // NaN: there is none
int gr_metrics_named(gr_arena *, const gr_metrics *, const char *prefix, gr_named *out);
// The memory of a slice that gr_run_tensor_slice gave.
gr_exec_tensor gr_run_tensor_of(const gr_tensor_slice *);
// Copies a state, or what full_state.c has gathered of it, to the host's memory: for gr_saver.
GR_MUST_USE gr_status gr_run_fetch(void *run, const gr_tensor_slice *, void *to);
// ---- samples.c
// Chooses at most so many samples of a split, which are the same on any number of ranks.
gr_samples *gr_samples_choose(gr_run *, gr_split, int64_t most);
GR_MUST_USE gr_status gr_samples_take(gr_samples *, gr_run *, const gr_batch *);
// Prints them in the data's order, on rank 0; collective.
GR_MUST_USE gr_status gr_samples_print(gr_samples *, gr_run *);
