// batches.h - which batches a run reads, and the first of them before anything else.
#pragma once
#include "runtime/train/progress/progress.h"

bool gr_run_takes_data(const gr_rank *);  // whether a program of the loop takes batches
// The batches that this rank trains on from here on.
gr_loader_spec gr_run_train_batches(const gr_rank *, const gr_progress *);
// The batches of an evaluation of a split on this rank: one pass, of micro-batch size.
gr_loader_spec gr_run_eval_batches(const gr_rank *, gr_split);
// gr_loader_next before an agreement of the ranks: *out is NULL, too, if this process is asked to
// stop before the batch is made. The agreement then ends all ranks.
GR_MUST_USE gr_status gr_run_take_batch(gr_loader *, const gr_batch **out);
// Makes the first batch of each split that is read, and throws it away, so that what is wrong with
// data ends a run before it has a folder; nothing where unreadable samples are skipped. Collective.
GR_MUST_USE gr_status gr_run_try_batches(gr_rank *, const gr_progress *);
