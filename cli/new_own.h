// new_own.h - looks at the user's data for `graphrun new NAME --from=DATA`.
#pragma once
#include "cli/new_edit.h"

// A table (.csv, .tsv, .jsonl, .arff, .parquet, or .txt), of numbers or of texts, series (.ts), a
// list of images, videos or recordings with the columns path and label, a folder of images, or of
// recordings by their classes (new_images.h) or with their texts (new_recordings.h), a text (.txt,
// .md) or a manifest of recordings
// (.jsonl). GR_ERR_USAGE where no kind of project fits, GR_ERR_DATA where a file is damaged.
GR_MUST_USE gr_status gr_new_look(gr_new_own *, const char *path);
