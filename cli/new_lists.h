// new_lists.h - lists of images and videos, for `graphrun new NAME --from=LIST`.
#pragma once
#include "cli/new_images.h"

extern const gr_new_files gr_new_video_files;
// *found: a column of a table names images or videos. Begins a project of them and says what was
// found; where the user names a column to predict, what is no list of images is left to be a table.
// GR_ERR_DATA: the table is no list; GR_ERR_USAGE: it is not clear what is to be predicted.
GR_MUST_USE gr_status gr_new_list(gr_new_own *, gr_csv *, bool *found);
// *found: a folder has tables that name its images or videos, as gr_new_find_sheets finds them; of
// those where it is clear what to predict, if it has to be. Begins a project of them.
GR_MUST_USE gr_status gr_new_find_lists(gr_new_own *, const char *dir, bool clear, bool *found);
