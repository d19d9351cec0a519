// new_text_folders.h - folders of texts by their classes, for `graphrun new NAME --from=FOLDER`.
#pragma once
#include "cli/new_edit.h"

// *found: a folder has two folders of texts (.txt) or more, one for each class; or folders of
// splits (train, and val or test) that have. Begins a project of them, whose texts become lines of
// its data.jsonl and validation.jsonl. GR_ERR_DATA: a text cannot be read, or is too long.
GR_MUST_USE gr_status gr_new_find_text_folders(gr_new_own *, const char *path, bool *found);
