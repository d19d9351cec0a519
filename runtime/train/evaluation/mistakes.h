// mistakes.h - the samples that an evaluation had most wrong, for the report.
//
// How wrong a sample is follows from what the model's `predict:` names:
//
//   logits [n, classes], with classes  the cross entropy, of samples whose likeliest class is
//   another tokens [n, t] with lengths         edits of the text, in characters, divided by the
//   reference's one value of f32 for each sample   its distance from the field y, which is f32
//
// Of other models there are none.
#pragma once
#include "runtime/train/rank/rank.h"

typedef struct gr_mistakes gr_mistakes;
// Without mistakes, for at most `most` of them, which is above 0. The caller closes them.
gr_mistakes *gr_mistakes_open(gr_rank *, int64_t most);
void gr_mistakes_close(gr_mistakes *);  // NULL is fine
// Takes those of the batch that the eval program has just run on.
GR_MUST_USE gr_status gr_mistakes_take(gr_mistakes *, gr_rank *, const gr_batch *);
// Joins those of all ranks: the worst ones, the same on any number of ranks. Collective.
GR_MUST_USE gr_status gr_mistakes_gather(gr_mistakes *, gr_rank *);
// Writes them on rank 0, the worst first, with their inputs, which are read again.
GR_MUST_USE gr_status gr_mistakes_write(const gr_mistakes *, gr_rank *, gr_report *, int64_t step);
