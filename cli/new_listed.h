// new_listed.h - lists that training can read of those that it cannot, for `graphrun new NAME
// --from=DATA`.
#pragma once
#include "cli/new_edit.h"
#include "cli/new_index.h"

// What each row of a table is for, whose column names files, by a column of words of splits, folds,
// or the files' folders, as below. NULL: nothing divides them.
const gr_table_use *gr_new_uses(const gr_new_index *, const gr_csv *, int column);
// Where training could not read the files of a table by that column, or not by their splits, writes
// a list of them into the project, as `name`, and reads it: *t and *column become its. The splits
// are those of a column of words of splits, of the folds of a column `fold`, the last of which is
// for validation, or of the folders of the files; `whole`: all is of one. Rows whose files are not
// there, a tenth at most, or for a test beside a validation, are left out, and counted.
// GR_ERR_DATA: it has no line of names.
GR_MUST_USE gr_status gr_new_relist(gr_new_own *, const gr_new_index *, const char *name,
                                    bool whole, gr_csv *t, int *column);
// Adds a table of the same files for validation, likewise as validation.csv, as the value of a key.
// NULL: there is none.
GR_MUST_USE gr_status gr_new_relist_validation(gr_new_own *, const gr_new_index *,
                                               const char *table, const char *key);
// Whether training reads a table as a list, by the name of the column and its format.
bool gr_new_is_list(const gr_csv *, int column);
