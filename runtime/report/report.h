// report.h - progress lines and the result files in a run's output directory.
//
//   metrics.jsonl          one object per step
//   evals.jsonl            one object per evaluation
//   epochs.jsonl           one object per epoch
//   events.out.tfevents.*  the same scalars for TensorBoard, and pictures of matrices
//   NAME.svg               a matrix of the last evaluation
//   training_results.json  summary of the whole run, written at its end
//   run.log                all log lines (base/log.h), and the error that ended the run
//
// "epoch" and "step" of a row are numbers counted from 0; "best_epoch" is the "epoch" of its row in
// evals.jsonl. "steps", "best_step" and "epochs" are counts of completed ones, as in the name of a
// checkpoint.
//
// Two runs of one command write the same bytes except run.log and these fields, which are times:
// wall, seconds, data_seconds, samples_per_s (all files), total_seconds, total_step_seconds,
// total_data_seconds, total_minutes, started, finished (training_results.json) and wall_time (event
// files).
//
// Lines are written immediately: a kill loses at most the last. A run that resumes after k steps
// keeps the rows of its first k steps and appends; an incomplete last line is removed.
// training_results.json is removed when a run starts, so it never describes an earlier run.
//
// All files except run.log are written by rank 0; on other ranks every function may be called and
// does nothing else.
#pragma once
#include "base/arena.h"
#include "runtime/hooks/hooks.h"
#include "runtime/report/eta.h"
#include "runtime/report/other_names.h"
#include "runtime/report/table.h"

typedef struct gr_report_spec {
  const char *dir;
  int rank, ranks;
  int64_t resume_step;   // steps completed when the run starts; 0: a new run, old files are removed
  int64_t resume_epoch;  // epochs completed then
  bool epoch_open;       // the row of the epoch that ends at resume_step is still to be written
  bool eval_open;        // so is the row of the evaluation at resume_step
  int64_t total_steps;   // to estimate the remaining time; 0: not known
  double every_seconds;  // interval of progress lines; 0: 10 (0.1 on a terminal)
  int64_t every_steps;   // also a progress line every so many steps, not on a terminal; 0: not
  bool quiet;            // no progress lines
  bool terminal;         // standard error is a terminal: progress is one line that is overwritten
  bool all_ranks;        // ranks other than 0 print progress lines, too
  bool communication_known;  // the rows' split has the time of communication
  bool no_lines;             // do not write metrics.jsonl and evals.jsonl
  bool no_events;            // do not write event files
  const gr_param *params;    // hyper-parameters, for TensorBoard
  int n_params;
  const char *graph;  // the graph as a tensorflow.GraphDef, for TensorBoard
  size_t graph_bytes;
  gr_other_names tags;  // of values in event files
  double (*clock)(
      void);  // seconds, for intervals of lines and the remaining time; NULL: gr_seconds
} gr_report_spec;

typedef struct gr_report gr_report;
// Opens the files, truncated to what spec->resume_step keeps. Borrows spec->dir until close.
GR_MUST_USE gr_status gr_report_open(const gr_report_spec *, gr_report **out);
// Erases the progress line and closes the files. NULL is fine.
void gr_report_close(gr_report *);

// Copies all log lines (base/log.h) to dir/run.log from now on until close; at most one is open in
// a process. Closing NULL is fine.
GR_MUST_USE gr_status gr_report_open_log(const char *dir, FILE **out);
void gr_report_close_log(FILE *);  // ends the copying, and closes the file

// Adds to an error of writing into a run's folder which setting chooses it.
GR_MUST_USE gr_status gr_report_dir_hint(gr_status);

// Where the time of a step goes, in seconds of one rank.
typedef struct gr_time_split {
  double data, compute, communication;  // waiting for the batch; for other ranks: in collectives
} gr_time_split;
typedef struct gr_report_row {
  int64_t step, epoch;
  double loss, lr, grad_norm;
  int64_t samples;       // in the global batch
  double seconds;        // duration of the step
  const gr_named *more;  // further fields: metrics and values that hooks log
  int n_more;
  gr_time_split split;         // of this rank
  const gr_time_split *ranks;  // of the first n_ranks ranks, of late; none: n_ranks is 0
  int n_ranks;
  gr_eta_rest rest;  // what interrupts the steps that are left, whose number is spec->total_steps'
} gr_report_row;
// Writes the row of a step and its event, and a progress line when one is due. The values of a row
// are rank 0's; its times are each rank's own.
GR_MUST_USE gr_status gr_report_step(gr_report *, const gr_report_row *);
// Samples per second, averaged exponentially over about 20 steps, as in the progress line.
double gr_report_rate(const gr_report *);
// This rank's split of a step, of which earlier steps are a part likewise.
gr_time_split gr_report_split(const gr_report *);
// Evaluations or checkpoints (runtime/report/eta.h) have interrupted the steps for so long.
void gr_report_interrupted(gr_report *, gr_eta_kind, double seconds, double units);

// Shows the progress of an evaluation: on a terminal a line that is erased at its end, else a line
// of the log as often as of steps.
void gr_report_evaluating(gr_report *, const char *what, int64_t batch, int64_t batches);
// Writes the row of an evaluation after `steps` steps, with its tables, which are also drawn. A run
// that resumes at that step keeps the row, unless its spec has eval_open.
GR_MUST_USE gr_status gr_report_eval(gr_report *, int64_t steps, int64_t epoch,
                                     const gr_named *values, int n, const gr_tables *);

typedef struct gr_report_sample {
  const char *name, *reference, *predicted;
  const char *more;  // further members of its row as JSON, each after a comma; NULL: none
} gr_report_sample;
enum { GR_MAX_SHOWN = 32 };
// Writes samples of an evaluation with the model's predictions: to samples.jsonl, in place of those
// of the evaluation before, and the first GR_MAX_SHOWN as text for TensorBoard; again: that has
// them, since a run that was resumed had evaluated this state before.
GR_MUST_USE gr_status gr_report_samples(gr_report *, int64_t steps, const gr_report_sample *, int n,
                                        bool again);

// Writes the samples that an evaluation had most wrong to mistakes.jsonl, in place of those of the
// evaluation before. A run that resumes keeps them unless they are of a later step.
GR_MUST_USE gr_status gr_report_mistakes(gr_report *, int64_t steps, const gr_report_sample *,
                                         int n);

typedef struct gr_report_epoch_row {
  int64_t epoch, steps;  // steps: completed at its end
  double train_loss, lr, seconds;
  double data_seconds;  // of them, how long steps waited for batches
  int64_t samples;
  const gr_named *metrics;  // of training and validation
  bool shown, last;         // with a line for the console, if one is due; it is the last epoch
  int n_metrics, n_train;   // the first n_train are of training and have no event of their own yet
} gr_report_epoch_row;
// Writes the row of an epoch and its event.
GR_MUST_USE gr_status gr_report_epoch(gr_report *, const gr_report_epoch_row *);

#define GR_RESULTS_NAME "training_results.json"  // in the folder of the run
typedef struct gr_results {
  const char *model, *backend, *device;  // device: "cpu", "NVIDIA H200", ...
  const char *ended;                     // "done", "stopped: REASON", "failed: WHY", ...
  int exit_code;
  const char *config_hash;
  const char *identity;      // its hash; NULL: none
  const char *resumed_from;  // the checkpoint that checkpoint.resume names; NULL: none
  int gpus, ranks;
  int64_t parameters, trainable, epochs, steps;
  double final_loss;
  const char *best_metric;  // NULL: none
  double best_value;
  int64_t best_epoch, best_step;
  const char *best_checkpoint;  // or NULL
  const gr_named *metrics;      // at the end of the run
  int n_metrics;
  gr_tables tables[2];         // likewise, of the splits
  double total_seconds;        // since the start or the last resume
  double total_step_seconds;   // of them, how long steps took: set by gr_report_finish
  double total_data_seconds;   // of them, how long steps waited for batches
  double started;              // seconds since 1970
  const char *config;          // the composed configuration as JSON, or NULL
  gr_other_names other_names;  // of values in training_results.json
} gr_results;
// Writes training_results.json, including the rows of epochs.jsonl, through a temporary file.
GR_MUST_USE gr_status gr_report_finish(gr_report *, const gr_results *);
