// text_scores.h - metrics of the texts that an evaluation has generated (training.text_metrics).
#pragma once
#include "runtime/train/rank/rank.h"

typedef struct gr_text_scores gr_text_scores;
// *out is NULL where none are asked for. Close it in any case. After the programs.
GR_MUST_USE gr_status gr_text_scores_open(gr_rank *, gr_text_scores **out);
// NULL is fine for all of these.
void gr_text_scores_close(gr_text_scores *);
void gr_text_scores_clear(gr_text_scores *);  // before an evaluation
GR_MUST_USE gr_status gr_text_scores_take(gr_text_scores *, gr_rank *,
                                          const gr_batch *);  // after each batch
// After the last one: adds the metrics, each in the place of the model's of that name. Collective.
GR_MUST_USE gr_status gr_text_scores_report(gr_text_scores *, gr_rank *, gr_metrics *);
