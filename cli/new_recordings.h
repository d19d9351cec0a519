// new_recordings.h - recordings with their texts, for `graphrun new NAME --from=DATA`.
#pragma once
#include "cli/new_index.h"

typedef struct gr_new_recordings {
  const char *manifest;    // its lines, with absolute paths
  const char *validation;  // likewise; NULL: there are none for it alone
  const char *other;       // of the first that are for neither (test); or NULL
  int n, n_validation;     // recordings that they have
  int without_text;        // ... that are left out
} gr_new_recordings;

// Makes a manifest of the recordings of an index, a folder whose texts are in metadata.csv, as
// NAME|TEXT|... without a head (LJSpeech; the last field counts), in a table of which a column
// names recordings and another has the texts (gr_new_read_list), in files *.trans.txt of lines NAME
// TEXT at any depth (LibriSpeech), in text beside wav.scp (Kaldi), or else in NAME.txt beside each.
// n: 0: the folder has none. GR_ERR_DATA where a file is damaged, or a recording that a list names
// is not there; GR_ERR_USAGE where two tables name recordings, and not for the splits.
GR_MUST_USE gr_status gr_new_read_recordings(const gr_new_index *, gr_new_recordings *out);
// The same of a table with a column whose cells are paths of recordings, relative to its folder,
// and one with their texts: transcription, sentence, text, transcript, or the only other of text.
// n: 0: no column names recordings.
GR_MUST_USE gr_status gr_new_read_list(const gr_new_index *, const gr_csv *,
                                       gr_new_recordings *out);
// Whether a column is called as those of what is said are: transcription, sentence, text,
// transcript.
bool gr_new_is_said(const char *name);
