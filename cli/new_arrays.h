// new_arrays.h - arrays (.npz, .npy, IDX) as a data set, for `graphrun new NAME --from=DATA`.
#pragma once
#include "cli/new_edit.h"

bool gr_new_is_arrays(const char *path);  // whether its name says that a file has arrays
// *found: the path is a file of arrays, or a folder with some, and what is to be predicted is in
// one of them. Those that are apart in files of one folder (X.npy and y.npy) belong together.
// Begins a project by the dimensions of the others: rows, series or images, with a class or a
// value. GR_ERR_USAGE: there are no such arrays, or no project is for them. GR_ERR_DATA: as
// training.
GR_MUST_USE gr_status gr_new_find_arrays(gr_new_own *, const char *path, bool *found);
