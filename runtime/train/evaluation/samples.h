// samples.h - samples of an evaluation that are shown with the model's predictions.
#pragma once
#include "runtime/train/rank/rank.h"

typedef struct gr_samples gr_samples;
// Chooses at most `most` samples of a split to show, the same ones on any number of ranks. The
// caller closes them.
gr_samples *gr_samples_choose(gr_rank *, gr_split, int64_t most);
// Frees the samples with their predictions; NULL is fine.
void gr_samples_close(gr_samples *);
// Collects the predictions of those chosen samples that are in the batch.
GR_MUST_USE gr_status gr_samples_take(gr_samples *, gr_rank *, const gr_batch *);
// Gathers the predictions of all ranks' samples. Collective.
GR_MUST_USE gr_status gr_samples_gather(gr_samples *, gr_rank *);
// Appends the input of a sample as a member of its row; nothing if it cannot be read again.
void gr_samples_put_input(gr_text *, gr_rank *, uint32_t sample);
// Writes them on rank 0, in the order of the data set; again: as gr_report_samples.
GR_MUST_USE gr_status gr_samples_write(const gr_samples *, gr_rank *, gr_report *, int64_t step,
                                       bool again);
void gr_samples_print(const gr_samples *, gr_rank *);  // prints them on rank 0, likewise
