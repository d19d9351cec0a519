// new_sounds.h - recordings with classes, for `graphrun new NAME --from=DATA`.
#pragma once
#include "cli/new_index.h"

extern const gr_new_files gr_new_sound_files;
// Begins a project of a table that names recordings, where it has a column of classes: the one that
// is given, or one with a usual name beside no texts of recordings with one. The table is one of
// the sheets, whose table for validation is used so. *found: it has one. GR_ERR_DATA: it is no list
// that training reads, or a recording cannot be read.
GR_MUST_USE gr_status gr_new_sound_list(gr_new_own *, const gr_new_index *, gr_new_sheets, gr_csv *,
                                        bool *found);
// Begins a project of a manifest, whose lines have classes in that key. GR_ERR_DATA.
GR_MUST_USE gr_status gr_new_sound_manifest(gr_new_own *, const char *path, const char *label);
