// show.h - what a report prints while a run trains: a progress line of its steps or of an
// evaluation. On ranks other than 0 only if spec->all_ranks, and not on a terminal, where the line
// of rank 0 has them all.
#pragma once
#include "runtime/report/eta.h"
#include "runtime/report/report.h"

typedef struct gr_show {
  const gr_report_spec *spec;
  gr_eta eta;
  double shown;             // time of the last progress line
  double eval_began;        // time of an evaluation's first batch
  double samples, seconds;  // exponentially decaying sums: each step weighs 0.95 of the next
  gr_time_split split;      // likewise
} gr_show;

// Counts a step, and shows it if that is due.
void gr_show_step(gr_show *, const gr_report_row *);
// As gr_report_evaluating.
void gr_show_evaluating(gr_show *, const char *what, int64_t batch, int64_t batches);
