// eta.h - how long the rest of a run takes. Times are seconds of one clock, which the caller reads.
//
//   steps left x the time of a step + what is left of each interruption x the time of a unit of it
//
// The time of a step is the mean over the later half of the steps of this process, with all that
// came between them but interruptions. Steps before the last power of two that is at most half of
// them do not count: never the first step, which warms up. The time of a unit of an interruption
// is the mean of the last one and what was believed before. Until there was one, it is a multiple
// of the time of a step.
#pragma once
#include "base/status.h"

// What interrupts the steps. Units: batches of evaluations, checkpoints.
typedef enum gr_eta_kind { GR_ETA_EVALUATION, GR_ETA_CHECKPOINT, GR_ETA_KINDS } gr_eta_kind;

enum { GR_ETA_MARKS = 63 };
typedef struct gr_eta {  // zeros at the beginning
  int64_t steps;
  double apart;               // seconds of all interruptions
  double unit[GR_ETA_KINDS];  // seconds of one; 0: not measured
  double mark[GR_ETA_MARKS];  // mark[k]: the time of step 2^k, counted from 1, less interruptions
} gr_eta;
typedef struct gr_eta_rest {
  double steps, units[GR_ETA_KINDS];
  double unit_steps[GR_ETA_KINDS];  // the steps that a unit takes as long as, if not measured
} gr_eta_rest;

void gr_eta_step(gr_eta *, double now);  // a step has ended
// An interruption of so many units, more than 0, has ended.
void gr_eta_interrupted(gr_eta *, gr_eta_kind, double seconds, double units);
// The seconds that are left; below 0: not known, before the second step has ended.
double gr_eta_left(const gr_eta *, double now, const gr_eta_rest *);
