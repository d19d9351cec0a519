// sums.h - the sums of an evaluation, and the program that makes metrics of them.
#pragma once
#include "runtime/train/rank/rank.h"

typedef struct gr_sums gr_sums;
// Finds the sums of the eval program and the report program: *out is in the rank's arena, NULL if
// the model has no `report:`. After the programs.
GR_MUST_USE gr_status gr_run_open_sums(gr_rank *, gr_sums **out);
// NULL is fine for all of these.
void gr_run_clear_sums(gr_sums *);  // before an evaluation
// After each batch, or after the k-th of 2^n virtual shards of one, of which the last adds all, as
// gr_metrics_add_tree.
GR_MUST_USE gr_status gr_run_add_sums(gr_rank *, gr_sums *, int bucket, int k, bool last);
// After the last one: runs the report program, adds its metrics, and sets its tables.
GR_MUST_USE gr_status gr_run_report_sums(gr_rank *, gr_sums *, gr_metrics *);
// The tables of the last evaluation, valid until the next one.
gr_tables gr_run_tables(const gr_sums *);
// A copy in the arena, whose names begin with `prefix`; the names of classes are borrowed.
gr_tables gr_tables_copy(gr_arena *, gr_tables, const char *prefix);
