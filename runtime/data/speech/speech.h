// speech.h - the source `speech`: recordings with transcripts, as log-mel frames and symbols, or
// with classes.
//
// Fields: x f32 [t, mels] (features), lengths i32 (frames), and those of the transcript's symbols
// (target_text.h), which recordings with classes do not have. Beyond a sample's length, features
// and symbols are 0.
#pragma once
#include "runtime/data/listing.h"
#include "runtime/data/parquet/kept.h"
#include "runtime/data/speech/feature.h"
#include "runtime/data/speech/manifest.h"
#include "runtime/data/target_text.h"

// The folder of noise that archives of words have beside those of their classes.
#define GR_SPEECH_NOISE "_background_noise_"
enum { GR_SPEECH_FRAMES = 1 << 24, GR_SPEECH_SECONDS = 4 * 3600 };  // of a recording, at most

// The keys of the source, and what a request's `spec` is without a configuration. Its paths and its
// vocabulary must outlive the source.
typedef struct gr_speech_spec {
  const char *train;       // a manifest; of classes, it may be a list or a folder
  const char *validation;  // likewise, or NULL: samples are split by the hash of their names
  gr_manifest_keys keys;   // keys.label: recordings have classes, and no transcripts
  const gr_vocab *vocab;   // NULL: the data has a tokenizer, or classes
  gr_text_rules text;
  gr_target_text around;  // symbols before and after each transcript, for decoders
  gr_feature_spec features;
  gr_augment augment;
  int32_t max_frames;   // longer utterances are skipped; 0: no limit
  int32_t subsampling;  // > 0: utterances whose symbols do not fit ceil(frames / subsampling) CTC
                        // steps are skipped; 0: the loss has to handle them
} gr_speech_spec;

// An utterance in the data set. Items are in the order of the manifests, the training manifest
// first.
typedef struct gr_speech_item {
  const gr_utterance *utterance;
  uint32_t listed;       // with classes: its number in the listing
  const char *manifest;  // path of the manifest, or the Parquet file, that lists it
  const char *text;      // the transcript after spec.text's rules; or the class
  gr_ids targets;
  int32_t hops;     // frames of the recording as it is
  int32_t frames;   // after cutting and padding; too many where the recording is too long
  bool validation;  // listed by the validation manifest
  bool headed;      // its head was read while it was listed
  size_t bytes;     // of a recording in a Parquet file
} gr_speech_item;

typedef enum gr_speech_skip {
  GR_SPEECH_DENSE,    // more targets than CTC steps (subsampling)
  GR_SPEECH_UNKNOWN,  // a symbol not in the vocabulary
  GR_SPEECH_EMPTY,    // an empty transcript
  GR_SPEECH_LOST,     // symbols of a transcript
  GR_SPEECH_CUT,      // the end of a recording
  GR_SPEECH_OTHER     // files in folders that are no recordings
} gr_speech_skip;     // of gr_source_ops.skips

typedef struct gr_speech {
  gr_arena *arena;
  gr_speech_spec spec;
  gr_tokenizer tokens;  // of the request, or of the vocabulary
  gr_features features;
  gr_listing list;  // with classes: recordings as they are listed, of which some are items
  gr_manifest *manifests;
  int n_manifests;
  gr_speech_item *items;
  uint32_t count;
  int32_t most_hops;    // recordings with more are left out; 0: no limit
  gr_kept_pages *kept;  // of Parquet files
  size_t cache_bytes;   // see gr_source_request
  gr_unreadable *unreadable;
  gr_omitted *skipped, *limited;  // see gr_source_request
  gr_map unknown;  // symbols that are not in the vocabulary: of how many skipped recordings
} gr_speech;

// Reads the spec of the section data.speech, with the vocabulary where the tokenizer is NULL.
GR_MUST_USE gr_status gr_speech_read_spec(gr_arena *, gr_conf *section, const gr_tokenizer *,
                                          gr_speech_spec *out);
// Reads manifests and creates targets. Reads no audio, except the headers of recordings without a
// duration in the manifest. GR_ERR_DATA with file:line:col.
GR_MUST_USE gr_status gr_speech_list(gr_speech *, const gr_source_request *);
// The first of it (lists.c): reads what the paths name, into the manifests; of recordings with
// classes into the listing, too, whose classes are numbered.
GR_MUST_USE gr_status gr_speech_read_lists(gr_speech *, const gr_source_request *);
// Reads a manifest, or the lists of Parquet files, up to the limit; 0: all. It is closed with the
// source.
GR_MUST_USE gr_status gr_speech_read_manifest(gr_speech *, const char *path, uint32_t limit,
                                              gr_manifest **out);
// The frames that CTC needs for the targets: each symbol, and a blank between equal neighbours.
int64_t gr_speech_alignment(const gr_speech_item *);
// Lists the request's recordings to predict, without targets; a file that ends in .jsonl, .csv,
// .tsv or .parquet lists them.
GR_MUST_USE gr_status gr_speech_list_inputs(gr_speech *, const gr_source_request *);
// Whether a path is of a table (.csv, .tsv), by its name.
bool gr_speech_is_table(const char *path);
// Adds those that a table (.csv, .tsv) lists to the listing and the manifests.
GR_MUST_USE gr_status gr_speech_list_table(gr_speech *, const gr_source_request *,
                                           const char *path);
// GR_ERR_DATA if a recording's number of frames (gr_feature_hops) is far from the one that its
// duration in the manifest gives: it is probably another recording.
GR_MUST_USE gr_status gr_speech_check_length(const gr_utterance *, const gr_feature_spec *,
                                             int64_t expected, int64_t hops);
// Appends a line with the symbols for which recordings are skipped, and the keys to change, if any.
void gr_speech_unknown(const gr_speech *, gr_text *);
// Appends hours and symbols of a split to its line of `data inspect`.
void gr_speech_summary(const void *self, const gr_sample *, uint32_t n, gr_split, gr_text *);
// Appends a table of the symbols and how often the samples have them.
void gr_speech_inspect(const void *self, const gr_sample *, uint32_t n, gr_text *);
