// evaluation.h - what evaluations of a run have given: the last validation, and the best so far.
// Written by evaluation.c alone; eval.c evaluates.
#pragma once
#include "runtime/train/evaluation/mistakes.h"
#include "runtime/train/evaluation/samples.h"
#include "runtime/train/evaluation/sums.h"
#include "runtime/train/evaluation/text_scores.h"
#include "runtime/train/progress/progress.h"

typedef struct gr_evaluation {
  gr_sums *sums;                        // of evaluations; NULL: the model has no `report:`
  gr_text_scores *texts;                // likewise; NULL: training.text_metrics has none
  gr_metrics validation, train_at_end;  // of the last validation; of the training set at the end
  gr_tables tables, tables_at_end;      // likewise
  gr_samples *samples;                  // shown of the last validation; NULL: none
  gr_mistakes *mistakes;                // of the last validation; NULL: none are kept
  int64_t eval_step;                    // completed steps at the last one; -1: there was none
  bool evaluated;                       // train_at_end and validation are of the final state
  double best;                          // value of checkpoint.metric; NaN: there was none
  int64_t best_step, best_epoch;        // where
  double *bests;                        // the best keep_best values of the metric, best first
  int n_bests, max_bests;
  bool among_best;    // the last evaluation is one of them
  int64_t pass_step;  // completed steps at the end of the last pass, if the metric is one of a pass
  double pass_value;  // the metric of that pass
} gr_evaluation;

// Opens it without an evaluation; the sums are in the rank's arena. Close it in any case.
GR_MUST_USE gr_status gr_evaluation_open(gr_evaluation *, gr_rank *);
// Closes what it has opened, and the samples and mistakes of the last validation.
void gr_evaluation_close(gr_evaluation *);
// Whether one is due at the end of this epoch.
bool gr_evaluation_is_due(const gr_progress *, const gr_loop_settings *);
// Whether the last one was of this step.
bool gr_evaluation_is_of(const gr_evaluation *, const gr_progress *);
// Forgets the results of the last validation.
void gr_evaluation_clear(gr_evaluation *);
// Takes what a validation collects: its samples and mistakes, which it closes; NULL for none.
void gr_evaluation_show(gr_evaluation *, gr_samples *, gr_mistakes *);
// Takes its results; the tables are borrowed.
void gr_evaluation_set(gr_evaluation *, const gr_metrics *, gr_tables);
// The results are those of this step, for the first time: it may be the best.
void gr_evaluation_count(gr_evaluation *, gr_rank *, const gr_progress *);
// At the end of the run: takes the results of the training set; the tables are borrowed.
void gr_evaluation_set_train(gr_evaluation *, const gr_metrics *, gr_tables);
// At the end of the run: all results are those of the final state.
void gr_evaluation_finish(gr_evaluation *);

// Whether checkpoint.metric is one of a program of the loop: the mean over a pass.
bool gr_run_metric_is_of_pass(const gr_run_spec *);
// At the end of a pass the same is done with its metric; whether it is among the best.
bool gr_run_update_pass_best(gr_evaluation *, gr_rank *, const gr_progress *);
// At the end of an epoch, after its evaluation or its pass: the value of training.stop_unless that
// checkpoint.metric has not reached, so that the run is to end; NULL: there is none.
const gr_rung *gr_evaluation_missed(const gr_evaluation *, const gr_run_spec *,
                                    const gr_progress *);
// Whether the last evaluation is of this step and among the best.
bool gr_evaluation_is_among_best(const gr_evaluation *, const gr_progress *);
void gr_evaluation_scalars(gr_evaluation *, gr_scalar_table *);  // adds those of a checkpoint
