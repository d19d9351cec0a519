// new_own.h - looks at the user's data for `graphrun new NAME --from=DATA`.
#pragma once
#include "cli/new/new.h"

// What a project for the data is made of; all in the arena.
typedef struct gr_new_own {
  const gr_new_kind *kind;
  const char *config;    // the kind's config.yaml with the data's path, columns and format
  const char *manifest;  // of recordings, which becomes the project's; NULL: there is none
} gr_new_own;

// A table (.csv, .tsv, .jsonl, .arff), of numbers or of texts, series (.ts), a list of images or
// videos with the columns path and label, a folder with a folder of images for each class, or of
// recordings with their texts (new_recordings.h), a text (.txt, .md) or a manifest of recordings
// (.jsonl). label: the column to predict of a table; NULL: the one with a usual name, or the last.
// Appends to `said` what was found. GR_ERR_USAGE where no kind of project fits, GR_ERR_DATA where a
// file is damaged.
GR_MUST_USE gr_status gr_new_look(gr_arena *, const char *path, const char *label, gr_new_own *out,
                                  gr_text *said);
