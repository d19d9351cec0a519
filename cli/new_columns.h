// new_columns.h - which columns of the user's table are texts, and which one to predict, for
// `graphrun new NAME --from=TABLE`.
#pragma once
#include "runtime/data/csv.h"

// Reads a table as training does: CSV, JSON lines, .arff or Parquet. GR_ERR_DATA also where it has
// no rows, or one column.
GR_MUST_USE gr_status gr_new_read_table(gr_arena *, const char *path, gr_csv *out);
// Whether a column has numbers to predict, and no classes: numbers are classes where there are few
// of them, and whole. *distinct: how many different cells it has.
bool gr_new_is_value(const gr_csv *, int column, uint32_t *distinct);
// The column with a usual name of what is to be predicted, first `label`, and where `text` those of
// texts; -1: there is none.
int gr_new_find_usual(const gr_csv *, bool text);
// The column to predict: the one given by its name, else one with a usual name, else beside texts
// the last with few values, else of rows without names, of a class and fractions, the first, else
// the last with values but `text`, which may be -1, and but those of names (gr_new_has_names) and
// of the numbers of rows; else beside texts the last of other texts. GR_ERR_USAGE: there is no
// column of that name.
GR_MUST_USE gr_status gr_new_find_label(const gr_csv *, const char *given, int text, int *out);
// The column of texts: one with a usual name, or, where no column but `label` (-1: it is not known)
// is of numbers, the one with the longest texts of several words, which are of 16 bytes and more on
// average unless the label is a text, too. -1: there is none.
int gr_new_find_text(const gr_csv *, int label);
// Whether a column names things, or has texts: more than 20, with fewer than 10 rows for each.
bool gr_new_has_names(const gr_csv *, int column);
// Whether a column has a few words that repeat.
bool gr_new_has_classes(const gr_csv *, int column);
// Whether each text of a column is a feature: there are 2 to 20, which most rows have.
bool gr_new_is_one_hot(const gr_csv *, int column);
// GR_ERR_USAGE: no column but `label` is of numbers or one_hot, of which the network computes.
GR_MUST_USE gr_status gr_new_check_features(const gr_csv *, int label);
// How many rows lack a feature, or the label: such samples cannot be used.
uint32_t gr_new_incomplete_rows(const gr_csv *, int label);
// How many bytes of texts of that mean length are read, or written: room for those that are twice
// as long as most, in steps, up to 1024.
int gr_new_tokens(double bytes, int step);
// The same of a column.
int gr_new_text_tokens(const gr_csv *, int text, int step);
// How many rows each series has, at least, of the columns of a .ts file (runtime/data/csv_kinds.h).
uint32_t gr_new_series_rows(const gr_csv *, int series);
// Whether the other columns are the moments of a series: of numbers, at least 16, and called by
// numbers: att1.
bool gr_new_is_series(const gr_csv *, int label);
