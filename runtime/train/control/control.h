// control.h - what decides what a rank does next: what hooks have asked for and set, a failure, and
// how the run ends. Written by control.c alone; hook_calls.c calls the hooks.
//
// A decision that depends on what only one rank knows (hooks, signals, clocks, errors) is first
// combined by gr_run_agree, so that no rank enters a collective that another does not.
#pragma once
#include "runtime/report/report.h"
#include "runtime/train/scalars.h"

// What all ranks do next. Before gr_run_agree it is what this rank wants, afterwards what all do.
typedef struct gr_step_controls {
  double lr;
  bool stop;      // a hook requests it, or the last step is done
  bool save;      // a hook requests a checkpoint
  bool evaluate;  // a hook requests an evaluation
  bool finish;    // rank 0 has written its part of the pending checkpoint
  bool signal;    // a rank has received a signal to stop
  bool failed;    // a rank has failed
  bool cut;       // the signal has cut off a call of a hook
} gr_step_controls;

// Hooks that are called once for a step, or an epoch, also if the run is resumed in between.
typedef enum gr_once {
  GR_ONCE_LR,
  GR_ONCE_BEFORE_OPTIMIZER,
  GR_ONCE_EPOCH_START,
  GR_ONCE_EVAL_START,
  GR_ONCES
} gr_once;

enum { GR_SHOWN_RANKS = 8 };
typedef struct gr_control {
  gr_step_values values;           // of the next step
  bool is_set[GR_MAX_ADJUSTABLE];  // by a hook
  int64_t called[GR_ONCES];        // the step or the epoch for which each was called; -1: none
  gr_hook_result asked;            // what hooks requested since the last agreement
  gr_status failure;               // of this rank; others learn of it at the next agreement
  const char *ended;               // the reason, for results; NULL: it has not ended
  bool opened;    // ranks agree on stopping; before, each ends by itself (base/stop.h)
  bool excepted;  // on_exception was called
  gr_time_split ranks[GR_SHOWN_RANKS];  // of each of the first n_ranks ranks, as agreed last
  int n_ranks;                          // 0 but with logging.ranks=all
  bool cut_off;                         // a call of a hook was cut off, since the run is to stop
} gr_control;

gr_control gr_control_begin(const gr_run_spec *);  // before the first step
// Ranks agree on stopping from now on.
void gr_control_open(gr_control *);
// The run ends, without an error: the reason is borrowed.
void gr_control_end(gr_control *, const char *reason);

// Keeps an error of this rank for the next agreement, and takes ownership of it; GR_OK is fine.
void gr_run_set_failure(gr_control *, gr_status);
gr_status gr_control_take_failure(gr_control *);  // gives it to the caller; GR_OK: there is none
// An agreement on whether any rank has failed: this rank's failure, or GR_ERR_RANK. Collective.
GR_MUST_USE gr_status gr_run_check(gr_control *, gr_rank *);
// Whether this rank wants to stop what it does, by a signal or a failure; other fields are 0.
gr_step_controls gr_control_interrupted(const gr_control *);
// All that this rank wants: that, the learning rate, and what hooks requested.
gr_step_controls gr_control_wanted(const gr_control *);
// Combines what the ranks want, and sets the values to rank 0's; where the time of this rank's
// steps goes is told to all. One small all_reduce. Collective.
GR_MUST_USE gr_status gr_run_agree(gr_control *, gr_rank *, gr_time_split,
                                   gr_step_controls *mine_then_all);
// What all ranks want of a step is known: requests are done, but for an evaluation.
void gr_control_agreed(gr_control *, const gr_step_controls *);
void gr_control_evaluated(gr_control *);  // the evaluation is done, too
void gr_control_logged(gr_control *);     // what hooks log is written

void gr_control_set_lr(gr_control *, double lr);  // of the next step
// Adds what a hook requests and sets.
void gr_control_ask(gr_control *, const gr_hook_result *, int n_adjust);
// Replaces all requests by earlier ones, those that a checkpoint has.
void gr_control_ask_only(gr_control *, const gr_hook_result *);
// Notes the step or the epoch for which a hook that is called once was called.
void gr_control_set_called(gr_control *, gr_once, int64_t step);
void gr_control_cut_off(gr_control *);                     // a call of a hook was cut off
bool gr_control_except(gr_control *);                      // whether on_exception is to be called
void gr_control_scalars(gr_control *, gr_scalar_table *);  // adds those of a checkpoint
