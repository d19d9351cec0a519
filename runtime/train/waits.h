// waits.h - how long steps of training wait for their batches: this process's, on rank 0 also in
// the run's files and its last lines. A batch is waited for that was not ready when the step asked
// for it: workers had not finished it, or there are none.
#pragma once
#include "base/base.h"

typedef struct gr_wait {
  int64_t batches, late;  // that were taken; of these, those that were waited for
  double seconds;
} gr_wait;
typedef struct gr_waits {
  gr_wait all, epoch, first;  // since the start; of the epoch that runs; of the first that ended
  int64_t epochs;             // that ended
  double data, agreement;     // of the step that comes next: for its batch; until ranks agree on it
} gr_waits;

// waited: seconds; 0: the batch was ready.
void gr_waits_add(gr_waits *, double waited);
void gr_waits_agreed(gr_waits *, double seconds);  // that an agreement of all ranks took
void gr_waits_end_step(gr_waits *);                // forgets `data` and `agreement`
// Ends an epoch; its seconds.
double gr_waits_end_epoch(gr_waits *);
// Logs them all, and those after the first epoch, when it takes longest. Nothing without batches.
void gr_waits_log(const gr_waits *);
