// new_archives.h - samples in .tar files (runtime/data/archive.h), for `graphrun new NAME --from`.
#pragma once
#include "cli/new_edit.h"
#include "runtime/data/csv.h"

// *found: the samples of the archives that a table is of have images or recordings. Begins their
// project; but where recordings have texts, *manifest is the lines of a manifest of them, for the
// caller, else NULL. GR_ERR_USAGE where there is no project of them, GR_ERR_DATA.
GR_MUST_USE gr_status gr_new_find_archive(gr_new_own *, const gr_csv *, bool *found,
                                          char **manifest);
