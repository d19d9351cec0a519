// csv_cut.h - files of text that are tables, cut into cells. Private to csv*.c.
#pragma once
#include "runtime/data/csv_rows.h"

// Cuts a file into further rows. What is read is in the arena; `cells` and `lines` are the caller's
// to free, also after an error. Fails with GR_ERR_DATA and the line and column of the file, also at
// the first column whose name is not that of the first file.
GR_MUST_USE gr_status gr_cut_file(gr_cut *, const char *path);
