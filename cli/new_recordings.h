// new_recordings.h - recordings with their texts, for `graphrun new NAME --from=DATA`.
#pragma once
#include "base/base.h"
#include "runtime/data/csv.h"

typedef struct gr_new_recordings {
  const char *manifest;  // its lines, with absolute paths
  int n, without_text;   // recordings that it has, and that are left out
} gr_new_recordings;

// Makes a manifest of the recordings of a folder whose texts are in metadata.csv, as
// NAME|TEXT|... without a head (LJSpeech; the last field counts), in a table of which a column
// names recordings and another has the texts (gr_new_read_list), or else in NAME.txt beside each.
// n: 0: the folder has none. GR_ERR_DATA where a file is damaged, or a recording that a list names
// is not there; GR_ERR_USAGE where two tables name recordings.
GR_MUST_USE gr_status gr_new_read_recordings(gr_arena *, const char *dir, gr_new_recordings *out);
// The same of a table with a column whose cells are paths of recordings, relative to its folder,
// and one with their texts: transcription, sentence, text, transcript, or the only other of text.
// n: 0: no column names recordings.
GR_MUST_USE gr_status gr_new_read_list(gr_arena *, const gr_csv *, gr_new_recordings *out);
// The column of a table whose first cell names a recording; -1: none does.
int gr_new_find_names(const gr_csv *);
// Whether a column is called as those of what is said are: transcription, sentence, text,
// transcript.
bool gr_new_is_said(const char *name);
// *out: the table in a folder that names recordings; NULL: none does. GR_ERR_USAGE: two do.
GR_MUST_USE gr_status gr_new_find_list(gr_arena *, const char *dir, const char **out);
// Appends the symbols of all transcripts of a manifest's text, which it changes, in the order of
// their codes.
void gr_new_put_symbols(gr_arena *, char *manifest, gr_text *out);
