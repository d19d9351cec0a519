// smaller.h - which figure of a configuration is to be lowered where its plan needs too much
// memory.
#pragma once
#include "job/job.h"

// What there is, in the same unit of bytes: of a rank, or of those of a machine.
typedef struct gr_smaller {
  const gr_job *job;
  double states, bytes;  // what it needs, of that for states: weights, the optimizer's
  double limit;          // what it may need
  // What it would need with one override more; NULL: that is not to be tried.
  double (*with)(const void *ctx, const char *override);
  const void *ctx;
} gr_smaller;

// Appends the largest training.batch_size that was found to fit, or where none does the sizes of
// the model: "training.batch_size=16 fits, and is 64 here".
void gr_put_smaller(gr_text *, const gr_smaller *);
// Hints for a plan that training.memory, `limit`, refuses: what else a rank would need less by, and
// what gr_put_smaller says.
GR_MUST_USE gr_status gr_hint_memory(gr_status, const gr_job *, int ranks, double states,
                                     double bytes, double limit);
