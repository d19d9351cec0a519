// csv_kinds.h - tables in files of text that are not CSV. Each function cuts the file's text, from
// gr_cut.cursor on, into rows, and names its columns. Fails with GR_ERR_DATA and the line. Private
// to csv*.c.
#pragma once
#include "runtime/data/csv_rows.h"

// JSON lines: an object on each, whose members are the columns; those of all lines are. True and
// false are 1 and 0, a list or an object is its JSON (csv_json.c).
GR_MUST_USE gr_status gr_cut_json(gr_cut *);
// Weka's .arff: a row for each instance, a column for each attribute: numbers, text and dates as
// text. Relational attributes and sparse rows are errors (csv_arff.c).
GR_MUST_USE gr_status gr_cut_arff(gr_cut *);
// .ts of sktime and aeon: a row for each moment of a series, with the columns `series`, its number
// in all files, dim_0, dim_1, ..., and `class` or `target` (csv_ts.c).
GR_MUST_USE gr_status gr_cut_ts(gr_cut *);
