// report.h - what a run says while it goes, and the files it leaves in its output directory.
//
//   metrics.jsonl          one object a step
//   evals.jsonl            one object an evaluation
//   epochs.jsonl           one object an epoch
//   events.out.tfevents.*  the same scalars for TensorBoard
//   training_results.json  the whole run, at its end
//   run.log                every line of base/log.h, and the error that ended the run
//
// Epochs and steps are counted from 0: a row's "epoch" and "step" are numbers of that kind, and
// "best_epoch" is the "epoch" of its row in evals.jsonl. "steps", "best_step" and "epochs" are how
// many are done, as in the name of a checkpoint.
//
// Two runs of one command leave the same bytes but for these fields, which are times: wall,
// seconds, samples_per_s (all files), total_seconds, total_minutes, started, finished
// (training_results.json), wall_time (event files); and run.log and the progress line.
//
// Lines are flushed as they are written: a kill loses at most the last. A run resumed after k
// steps keeps the rows of its first k steps and appends; a torn last line goes.
// training_results.json goes when a run starts: while it is there, it is that of the last run.
//
// The files but run.log are rank 0's: on other ranks all calls are allowed and do nothing else.
#pragma once
#include "base/arena.h"
#include "runtime/hooks/hooks.h"

typedef struct gr_report_spec {
  const char *dir;
  int rank, ranks;
  int64_t resume_step;   // steps done when the run starts; 0: a new run, old files go
  int64_t resume_epoch;  // epochs done then
  bool epoch_open;       // the epoch's row of that moment is yet to come
  bool eval_open;        // so is the evaluation's
  int64_t total_steps;   // for the time left; 0: not known
  double every_seconds;  // between progress lines; 0: 10 (0.1 on a terminal)
  int64_t every_steps;   // and between steps with one, where not 0; not on a terminal
  bool quiet;            // no progress lines
  bool terminal;         // the user sees standard error on one: progress is one line in place
  bool no_lines;         // no metrics.jsonl and evals.jsonl
  bool no_events;        // no event files
} gr_report_spec;

typedef struct gr_report gr_report;
GR_MUST_USE gr_status gr_report_open(const gr_report_spec *, gr_report **out);
// Takes the progress line away and closes the files. NULL is fine.
void gr_report_close(gr_report *);

// run.log gets what base/log.h says from now on; one at a time in a process. Closing NULL is fine.
GR_MUST_USE gr_status gr_report_open_log(const char *dir, FILE **out);
void gr_report_close_log(FILE *);

typedef struct gr_report_row {
  int64_t step, epoch;
  double loss, lr, grad_norm;
  int64_t samples;       // of the global batch
  double seconds;        // this step took
  const gr_named *more;  // further fields: metrics, values that hooks log
  int n_more;
} gr_report_row;
GR_MUST_USE gr_status gr_report_step(gr_report *, const gr_report_row *);
// The rate of samples, smoothed over about the last 20 steps; what the progress line says.
double gr_report_rate(const gr_report *);

// On a terminal: an evaluation has done so many batches. The line goes with its end.
void gr_report_evaluating(gr_report *, const char *what, int64_t batch, int64_t batches);
// After so many steps. A run resumed then keeps the row, unless it says `eval_open`.
GR_MUST_USE gr_status gr_report_eval(gr_report *, int64_t steps, int64_t epoch,
                                     const gr_named *values, int n);

typedef struct gr_report_epoch_row {
  int64_t epoch, steps;  // steps done at its end
  double train_loss, lr, seconds;
  int64_t samples;
  const gr_named *metrics;  // train and validation
  int n_metrics, n_train;   // the first n_train are train's, which have no event of their own yet
} gr_report_epoch_row;
GR_MUST_USE gr_status gr_report_epoch(gr_report *, const gr_report_epoch_row *);

typedef struct gr_results {
  const char *model, *backend, *device;  // device: "cpu", "NVIDIA H200", ...
  const char *ended;                     // "done", "stopped by a hook: REASON", "failed: WHY", ...
  int exit_code;
  const char *config_hash;
  int gpus, ranks;
  int64_t parameters, trainable, epochs, steps;
  double final_loss;
  const char *best_metric;  // NULL: none
  double best_value;
  int64_t best_epoch, best_step;
  const char *best_checkpoint;  // or NULL
  const gr_named *metrics;      // at the end
  int n_metrics;
  double total_seconds;  // since the start, or the last resume
  double started;        // since 1970
  const char *config;    // the composed configuration as JSON, or NULL
} gr_results;
// training_results.json, through a temporary file; with the epochs of epochs.jsonl.
GR_MUST_USE gr_status gr_report_finish(gr_report *, const gr_results *);
