// manifest.h - lists of recordings with their transcripts: JSON lines, and importers that
// write them. Training reads manifests only.
//
//   {"audio_path": "wavs/a.wav", "text": "hello there", "duration": 1.25}
//
// audio_path is relative to the manifest, or to `root`. duration (seconds) may be left out: the
// recording's head is read then. name (the split hashes it) is audio_path where left out. Other
// keys are ignored, except "offset": parts of recordings are refused, not read whole. In place of
// the text a line may have a class, text or a whole number, in a key that is given.
#pragma once
#include "runtime/data/archive.h"

typedef struct gr_utterance {
  const char *name;
  const char *audio;  // a path that can be opened from here
  const char *text;   // as written there; or the name of its class
  double seconds;     // 0: the manifest has no duration
  int line, col;      // in the manifest; of the text
  int audio_col, seconds_col;
  const char *file;               // the manifest, or the Parquet file, whose rows are its lines
  const struct gr_packed *shard;  // that has the recording (shard.h); NULL: it is the file `audio`
  gr_member member;               // where it is in an archive; else its archive is NULL
} gr_utterance;

typedef struct gr_manifest {
  const char *path;  // borrowed
  gr_utterance *items;
  uint32_t n;
  bool named;                // a class is a text, else all are whole numbers
  const char *const *names;  // for which these stand, n_names of them; or NULL
  int n_names;
  uint32_t first;            // the number of its first item in a listing of recordings with classes
  struct gr_packed *shards;  // [n_shards]: Parquet files whose rows the items are
  int n_shards;
} gr_manifest;

// What is read of manifests and Parquet files.
typedef struct gr_manifest_keys {
  const char *root;    // of relative paths; NULL: the manifest's folder
  const char *column;  // of transcripts in Parquet files; NULL: one of a usual name
  const char *label;   // the key, or the column, of classes in place of transcripts; or NULL
  bool inputs;         // to predict: texts and classes may be missing, and are "" then
} gr_manifest_keys;

// Strict JSON (RFC 8259), one object a line, or the samples of .tar files that a path or a pattern
// names (archive.h). Fails with GR_ERR_DATA and file:line:col.
// keys: NULL: transcripts, beside paths relative to the manifest.
GR_MUST_USE gr_status gr_manifest_read(gr_arena *, const char *path, const gr_manifest_keys *,
                                       gr_manifest *out);
// Writes through a temporary file, so that `path` is whole or untouched.
GR_MUST_USE gr_status gr_manifest_write(const char *path, const gr_utterance *, uint32_t n);

// `graphrun data import asterisk`: Debian's asterisk-core-sounds-LANGUAGE(-wav).
typedef struct gr_import_asterisk {
  const char *sounds;       // a folder; NULL: that of the language's package
  const char *transcripts;  // a file; NULL: likewise
  bool no_digits;        // leave out transcripts with digits or signs that are spoken (# * $ ...)
  const char *language;  // "en", "es", "fr", "it" or "ru", as Debian has them; NULL: "en"
} gr_import_asterisk;
typedef struct gr_import_counts {
  uint32_t written, sounds, digits;
  uint32_t missing;   // a transcript without its recording
  uint32_t repeated;  // another transcript of a recording: the first is taken
  double seconds;
} gr_import_counts;
// Writes the manifest of all recordings that have a transcript, and counts them and the others.
// GR_ERR_DATA where recordings or transcripts are not there or damaged; GR_ERR_IO.
GR_MUST_USE gr_status gr_import_asterisk_run(const gr_import_asterisk *, const char *out_path,
                                             gr_import_counts *);
