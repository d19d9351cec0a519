// new_recordings.h - recordings with their texts, for `graphrun new NAME --from=DATA`.
#pragma once
#include "base/base.h"

typedef struct gr_new_recordings {
  const char *manifest;  // its lines, with absolute paths
  int n, without_text;   // recordings that it has, and that are left out
} gr_new_recordings;

// Makes a manifest of the recordings of a folder whose texts are in metadata.csv, as
// NAME|TEXT|... without a head (LJSpeech; the last field counts) or with the columns file_name and
// transcription, sentence or text (audio folders of Hugging Face's datasets), or else in NAME.txt
// beside each. n: 0: the folder has none. GR_ERR_DATA where a file is damaged, or a recording that
// metadata.csv names is not there.
GR_MUST_USE gr_status gr_new_read_recordings(gr_arena *, const char *dir, gr_new_recordings *out);
// Appends the symbols of all transcripts of a manifest's text, which it changes, in the order of
// their codes.
void gr_new_put_symbols(gr_arena *, char *manifest, gr_text *out);
