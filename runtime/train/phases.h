// phases.h - the order in which a run runs its programs: one pass through its loop, which is an
// epoch, is a tree of phases. Without `loop:` it is one phase, an epoch of batches of train.
#pragma once
#include "base/base.h"

typedef enum gr_phase_over {
  GR_OVER_NOTHING,
  GR_OVER_MINIBATCHES,  // one time for each minibatch of the rows that its programs select from
  GR_OVER_DATA,         // one time for each batch of an epoch of the training data
} gr_phase_over;

typedef struct gr_phase {
  gr_loc loc;
  int program;            // index into the run's programs; -1: a list of phases
  struct gr_phase *list;  // n of them
  int n;
  int64_t repeat;
  gr_phase_over over;
  int64_t times;        // that the phase is run in a row: repeat, and what `over` says
  int64_t runs, steps;  // in all of these times: runs of programs, and of those that train
} gr_phase;

// The program that is run as number `place`, from 0, of the runs of a phase.
int gr_phase_at(const gr_phase *, int64_t place);
// The program whose run is step number `step`, from 0, of a phase that has steps.
int gr_phase_of_step(const gr_phase *, int64_t step);
