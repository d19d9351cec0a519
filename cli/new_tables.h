// new_tables.h - projects for the user's own rows: a class or a number of other columns, or of a
// text a class or another text (`graphrun new NAME --from=TABLE`).
#pragma once
#include "cli/new_edit.h"

extern const char gr_new_is_class[];  // the line of a configuration that says so of a label

// Sets the model's params: those given, and `center` and `scale`, the mean of a column's numbers
// and their deviation, since the network computes numbers around 0 and 1.
void gr_new_set_scale(gr_new_own *, const char *params, const gr_csv *, int label);
// The same of n numbers; those that are not finite are passed over.
void gr_new_set_scale_of(gr_new_own *, const char *params, const double *y, size_t n);
void gr_new_table_of(gr_new_own *, const gr_csv *, int label);  // of numbers
// Of texts with another text each, which is to be written.
void gr_new_pairs_of(gr_new_own *, const gr_csv *, int text, int target);
void gr_new_texts_of(gr_new_own *, const gr_csv *, int text, int label);  // of texts
