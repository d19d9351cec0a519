// dataset.h - the samples of a source, assigned to splits and to buckets of similar length.
//
// A data set is opened from the configuration's section `data`, whose key `source` names the table
// of functions that list and read samples (source.h). Any number of loaders (loader.h) share it,
// also those of other ranks in this process, so everything that changes after open is behind a
// lock.
//
// Every sample is in the training or the validation split, and in one bucket. A bucket is a class
// of lengths: its samples are padded to one static shape, for which one program is compiled.
// Samples are numbered from 0 in the order in which the source lists them.
#pragma once
#include "runtime/data/contract.h"

enum { GR_MAX_LENGTH_MULTIPLE = 1 << 16 };  // of gr_dataset_options.length_multiple

typedef enum gr_sampler_kind {
  GR_SAMPLER_SHUFFLE,   // each training sample once in an epoch
  GR_SAMPLER_BALANCED,  // as many of each class
  GR_SAMPLER_WEIGHTED,  // drawn in proportion to weights
} gr_sampler_kind;

typedef struct gr_dataset_options {
  double validation_fraction;  // of the samples split by key, [0, 1)
  int32_t validation_fold;     // which of such shares (gr_share)
  const int32_t *bounds;       // the largest length of each bucket, ascending; NULL: chosen so that
  int n_buckets;               // ... at most this many buckets have the least padding
  int32_t length_multiple;     // chosen bounds are rounded up to a multiple of this; 0: 1
  uint32_t limit;              // samples to use of each file, the first ones; 0: all
  bool skip_unreadable;        // an unreadable sample gets weight 0 and is counted; else an error
  size_t cache_bytes;          // of loaded samples kept in memory
  int workers, prefetch;       // for loaders
  gr_sampler_kind sampler;
  gr_conf *sampler_weights;  // data.sampler_weights: of classes; NULL: none
  gr_conf *transforms;       // data.transforms (transform.h); NULL: none
  int views;                 // of each sample, transformed one by one; 0: 1
} gr_dataset_options;

typedef struct gr_dataset gr_dataset;
typedef const char *gr_key_doc(const char *key);  // what a key of the configuration is for, or NULL

// Opens the data set that the section `data` describes. Samples are listed, not read. The
// configuration must outlive the data set. GR_ERR_CONFIG or GR_ERR_DATA, with a location.
GR_MUST_USE gr_status gr_dataset_open(gr_conf *data, gr_key_doc *, gr_dataset **out);
// Also loads every sample once. Unreadable samples are skipped whatever the configuration says, and
// gr_dataset_unreadable counts them. For `graphrun data inspect --audio`.
GR_MUST_USE gr_status gr_dataset_open_all(gr_conf *data, gr_key_doc *, gr_dataset **out);
// Opens it for the weights of a run: `record` is the text of the run's data.json, NULL if it has
// none, so that classes are numbered as there. With n > 0 inputs these files are the samples,
// without labels, instead of those that the section names; GR_ERR_USAGE if the source takes no
// files.
GR_MUST_USE gr_status gr_dataset_open_kept(gr_conf *data, gr_key_doc *, const char *record,
                                           const char *const *inputs, int n, gr_dataset **out);
// Opens a source with its own `spec` instead of a configuration, for tests and tools.
GR_MUST_USE gr_status gr_dataset_create(const gr_source_ops *, const void *spec,
                                        const gr_dataset_options *, gr_dataset **out);
void gr_dataset_close(gr_dataset *);  // after its loaders; NULL is fine
// Loads every sample, on all processors. With skip_unreadable, unreadable samples are listed in the
// order of the samples; else the first is the error. Called before loaders are opened.
GR_MUST_USE gr_status gr_dataset_load_all(gr_dataset *);

// The options in effect, with defaults filled in; owned by the data set.
const gr_dataset_options *gr_dataset_settings(const gr_dataset *);
// What a plan takes from it; owned by the data set.
const gr_contract *gr_dataset_contract(const gr_dataset *);
int gr_dataset_buckets(const gr_dataset *);  // their number; none is empty, lengths ascend
// A bucket by its number, the shortest first; owned by the data set.
const gr_bucket_info *gr_dataset_bucket(const gr_dataset *, int bucket);
const char *gr_dataset_bucket_name(gr_arena *, const gr_dataset *, int bucket);  // "t300", "all"
// The source's numbers and those that transforms set; returns how many. Names are borrowed.
int gr_dataset_metadata(const gr_dataset *, gr_metadata out[GR_MAX_METADATA]);
// The source's tables; returns how many. Their values are its own.
int gr_dataset_tables(const gr_dataset *, gr_data_table out[GR_MAX_TABLES]);
uint32_t gr_dataset_count(const gr_dataset *, gr_split);  // samples of a split

uint32_t gr_dataset_samples(const gr_dataset *);  // of both splits
// A sample by its number below gr_dataset_samples; owned by the data set.
const gr_sample *gr_dataset_sample(const gr_dataset *, uint32_t sample);
const void *gr_dataset_source(const gr_dataset *);  // the source's `self`

// Appends "skipped 31 of 568 utterances: 27 longer than 1000 frames, 4 ...". False: none are.
bool gr_dataset_skipped(gr_dataset *, gr_text *);
// The frames that a model leaves of samples of a bucket, by their length, up to `longest`; and
// those of the values that it computes, of which no sample has more. frames NULL: nothing is known.
typedef struct gr_frames_left {
  const int32_t *frames;
  int32_t longest, room;
} gr_frames_left;
// Appends a line of the samples whose targets CTC cannot align to these, by bucket, which says
// `unfit`, and one of those of more frames than there is room for, `beyond`.
void gr_dataset_put_unfit(const gr_dataset *, const gr_frames_left *of_bucket, const char *unfit,
                          const char *beyond, gr_text *out);
// Appends a line for each reason for which samples are not taken whole, or other things than
// samples are left out, with the first of them.
void gr_dataset_changed(const gr_dataset *, gr_text *);
uint64_t gr_dataset_unreadable(gr_dataset *);  // samples that this process could not read so far
// Logs them: what is skipped and, of samples that cannot be read, the first with their reasons;
// from then on also those that batches need, as this process finds them.
void gr_dataset_log_skipped(gr_dataset *);
void gr_dataset_log_weightless(gr_dataset *);  // logs how many of these weighed 0 in batches
// Location and reason of one of them; after gr_dataset_open_all in the order of the samples.
const char *gr_dataset_unreadable_line(gr_dataset *, uint64_t i);
// Appends what `graphrun data inspect` prints: counts, skipped samples, lengths, padding of
// buckets.
void gr_dataset_inspect(gr_dataset *, int batch, gr_text *);
// Looks at the heads of the files of samples part, part + parts, part + 2 parts, ... before they
// are needed; nothing where unreadable samples are skipped. GR_ERR_DATA of the first that is not
// there, or that its head shows to be damaged.
GR_MUST_USE gr_status gr_dataset_check_files(gr_dataset *, int part, int parts);
// Fails with GR_ERR_DATA where all training samples are of one class, unless data.limit leaves out
// others: called before a model is trained on them.
GR_MUST_USE gr_status gr_dataset_check_splits(const gr_dataset *);
// Appends lines that a run prints when it begins, if there are any: of the source, and unless it is
// for the weights of a run (gr_dataset_open_kept) of what the splits lack.
void gr_dataset_notes(const gr_dataset *, gr_text *);
// Makes a picture that a model has made of a sample, of the size of x, as large as the sample's
// file: where the source scales files. GR_ERR_DATA: it cannot be read any more.
GR_MUST_USE gr_status gr_dataset_resize_back(const gr_dataset *, uint32_t sample,
                                             gr_source_picture *);
// Whether all numbers of these columns of x are rows of the table that a model looks them up in, as
// far as the source knows: GR_ERR_CONFIG, GR_ERR_DATA.
GR_MUST_USE gr_status gr_dataset_check_lookup(const gr_dataset *, const gr_column_lookup *);
// Which keys to change if a model's input of that name is not given, or of another dtype; NULL:
// none.
const char *gr_dataset_advice(const gr_dataset *, const char *field);
// Appends how x is made of a file, with the transforms that apply to every sample, on one line;
// nothing where x is what the file has.
void gr_dataset_preprocessing(const gr_dataset *, gr_text *);
// Appends its table of classes, with their weights: nothing if there are none.
void gr_dataset_classes(const gr_dataset *, gr_text *);
void gr_dataset_json(const gr_dataset *, gr_text *);  // data.json of a run's folder
// That of data.tokenizer, owned by the data set; NULL: none is given.
const gr_tokenizer *gr_dataset_tokenizer(const gr_dataset *);
size_t gr_dataset_cached(gr_dataset *);  // bytes of samples in the cache

// Appends what the source and transforms computed from the training samples (means, deviations), as
// text for a checkpoint. False: nothing.
bool gr_dataset_save(const gr_dataset *, gr_text *);
// Sets what gr_dataset_save wrote, before loaders are opened. GR_ERR_CHECKPOINT where it does not
// fit this data. Ranks that share the data set may call it at once, with the same text.
GR_MUST_USE gr_status gr_dataset_restore(gr_dataset *, const char *);

// A hash of a sample's entry, by which ranks compare their data sets; with_file: also of the size
// of its file.
uint64_t gr_dataset_fingerprint(const gr_dataset *, uint32_t sample, bool with_file);
// The line that lists the sample; no place where none does.
gr_loc gr_dataset_place(const gr_dataset *, uint32_t sample);
// Appends what the fingerprint is of, for the message that ranks have different data.
void gr_dataset_describe(const gr_dataset *, uint32_t sample, gr_text *);

// The numbers of n samples, ascending and evenly spaced over a split of at least n.
void gr_dataset_sample_evenly(const gr_dataset *, gr_split, uint32_t n, uint32_t *out);
// A sample's name to print, in the arena.
const char *gr_dataset_sample_name(gr_arena *, const gr_dataset *, uint32_t sample);
// The output that is expected for a sample, in the arena; "" where there is none to print.
const char *gr_dataset_reference(gr_arena *, const gr_dataset *, uint32_t sample);
// Whether the outputs that are expected are texts, which tokens are made of.
bool gr_dataset_has_texts(const gr_dataset *);
// Appends a row of n predicted symbols or classes.
void gr_dataset_decode(const gr_dataset *, const int32_t *ids, int64_t n, gr_text *);
// Reads a sample again and appends its field x, as its source has it before transforms, as an
// object of JSON of at most 24 kB (preview.c):
//   {"text": "..."}                                    tokens, decoded
//   {"shape": [4], "values": [1.5, ...]}               a row
//   {"shape": [h, w, 3], "low": 0.0, "high": 255.0, "values": "..."}   of two to four dimensions,
//   as
//       bytes from `low` to `high` in Base64; a larger x by means over neighbours, and of a video a
//       few frames
// Appends nothing for a sample without x, or that is skipped because it cannot be read.
// GR_ERR_DATA.
GR_MUST_USE gr_status gr_dataset_preview(gr_dataset *, uint32_t sample, gr_text *json);
