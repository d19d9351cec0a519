// source.h - where samples come from: the functions that a kind of data implements.
//
// A source lists samples, declares their fields and lengths, and writes one sample into a row of a
// batch. It does not know about ranks, batches, epochs, threads or caches: what is common to all
// kinds of data (dataset.h, loader.h) is implemented once, over named fields.
// docs/add-a-data-source.md shows how to add one.
#pragma once
#include "base/json.h"
#include "compose/tree/conf.h"
#include "ir/graph.h"
#include "runtime/data/unreadable.h"

enum { GR_MAX_FIELDS = 8, GR_MAX_METADATA = 8, GR_MAX_TABLES = 8 };

typedef enum gr_split {
  GR_SPLIT_TRAIN,
  GR_SPLIT_VALIDATION,
  GR_SPLIT_BY_KEY,  // of a source's sample: the data set decides, by the sample's key
} gr_split;

// A tensor that every sample has. Models bind their inputs to fields by name; the field "weight",
// 1 for a sample and 0 for padding, is added to those of the source.
enum { GR_DIM_LENGTH = -1, GR_DIM_EXTENT = -2 };  // instead of a size
typedef struct gr_field_spec {
  const char *name;
  gr_dtype dtype;  // GR_F32, GR_I32, GR_I64 or GR_U8
  int rank;        // of one sample: 0 to GR_MAX_RANK - 1
  // Of one sample. GR_DIM_LENGTH: the length of the bucket. GR_DIM_EXTENT: as much as the sample of
  // the batch's bucket takes that has the most (gr_source_ops.extent).
  int64_t dim[GR_MAX_RANK - 1];
  bool pad_length;  // padding holds the length of the bucket; else 0
} gr_field_spec;

// A number that the data determines, such as the number of classes. It becomes the value of the
// model's parameter of that name, if there is one.
typedef struct gr_metadata {
  const char *name;
  int64_t value;
} gr_metadata;

// A value of the whole data set, which every rank has: the initial value of the model's buffers of
// that name that say `init: data`.
typedef struct gr_data_table {
  const char *name;
  gr_type type;
  const void *at;
} gr_data_table;

// The arguments of a source's open.
typedef struct gr_source_request {
  gr_arena *arena;  // for all that lives as long as the source does
  gr_conf *conf;    // the section data.NAME; NULL: `spec` is used instead
  const void *spec;
  // To predict: the files that are the samples, instead of those that the keys name. They have no
  // labels, all are in the validation split, and what fit computes is restored from a checkpoint.
  const char *const *inputs;
  int n_inputs;  // 0: none
  const struct gr_json
      *record;                 // data.json of the run whose weights are used (base/json.h); or NULL
  uint32_t limit;              // samples to list of each file, the first ones; 0: all
  double validation_fraction;  // of the samples that are split by key
  int32_t
      max_length;  // longer samples are left out; 0: there is no limit. The source may lower it.
  gr_unreadable *unreadable;  // where to report samples that cannot be used
  gr_loc place;  // set by the source: of errors about all samples, such as a manifest's first line
} gr_source_request;

// Of a sample, as the source lists it.
typedef struct gr_sample_info {
  uint64_t key;  // a hash of what names it (gr_hash_text): the same on every machine
  gr_split split;
  int32_t length;  // at least 1; 1 where no field has GR_DIM_LENGTH
  gr_loc loc;      // the line that lists it; its file lives as long as the configuration does
  int32_t label;   // 1 + the number of its class (gr_metadata "classes"); 0: it has none
  bool has_weight;
  float weight;  // for data.sampler=weighted, if it has one: at least 0
} gr_sample_info;

// The split of a sample with that key: a hash of what names it, against the share for validation.
// The same on any machine and in any order of the samples.
static inline gr_split gr_split_by_key(uint64_t key, double validation_fraction) {
  return (double)(key >> 11) * 0x1p-53 < validation_fraction ? GR_SPLIT_VALIDATION : GR_SPLIT_TRAIN;
}

// Samples that the source has not listed, for one reason.
typedef struct gr_skipped {
  const char *why;   // after a number: "with an empty transcript"
  const char *hint;  // what to change if no sample is left
  uint64_t count;
} gr_skipped;

// What is read of a sample, and kept while there is room: load makes it, fill uses it.
typedef struct gr_loaded {
  void *at;  // malloc; the data set frees it
  size_t bytes;
  int32_t length;
} gr_loaded;

// The counters from which a sample's random numbers are drawn (base/rng.h): they may depend on
// nothing else, so that batches are the same on any number of ranks and workers.
typedef struct gr_draw {
  uint64_t seed;
  uint64_t
      epoch;  // its number; in bits 32 to 63, how often it has had the sample before (data.sampler)
  uint32_t number;  // the sample's, in the data set
  bool augment;
} gr_draw;

// One row of a batch: memory of each field of the source, in its order. All of it is 0.
typedef struct gr_row {
  void *at[GR_MAX_FIELDS];
  int32_t length;  // of the bucket
} gr_row;

// The data set's view of a listed sample.
typedef struct gr_sample {
  uint32_t index;  // in the source's list
  int32_t length;
  int bucket;
  gr_split split;
  int32_t label;  // as in gr_sample_info
  float weight;   // 1 if it has none
} gr_sample;

// `self` is what open returned. Samples are numbers below count(self). Functions marked optional
// may be NULL. All but open, close, fit and restore may be called by several threads at once, so
// they must not change `self`.
typedef struct gr_source_ops {
  const char *name;    // of data.source
  const char *sample;  // one of them, for messages: "utterance"
  const char *unit;    // of lengths: "frame"; NULL: all samples are of one size, in one bucket
  const char *inputs;  // what `graphrun predict` takes: "WAV files"; NULL: it takes none of these
  bool empty;          // it has no samples, and one bucket

  // Reads its keys and lists samples. Errors have the location of what is wrong, or name keys
  // (gr_about) by what follows data.NAME.
  gr_status (*open)(gr_source_request *, void **out_self);
  void (*close)(void *self);                                          // optional
  int (*fields)(const void *self, gr_field_spec out[GR_MAX_FIELDS]);  // how many: at most 7
  uint32_t (*count)(const void *self);
  gr_sample_info (*info)(const void *self, uint32_t sample);
  // Of a sample, the size of the field's dimension GR_DIM_EXTENT. Optional without such a field.
  int32_t (*extent)(const void *self, uint32_t sample, int field);
  // Does what is slow or may fail, such as decoding a file. At most `most` of the sample's length
  // is used. Optional.
  gr_status (*load)(const void *self, uint32_t sample, int32_t most, gr_loaded *out);
  // Writes a sample into a row that has room for it. `loaded` is the result of load, or NULL.
  void (*fill)(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *,
               gr_row *);

  // What is wrong with the sample's own file, by its head alone: the error that load would give. A
  // run asks it of every sample before it begins, by many threads. Optional.
  gr_status (*probe)(const void *self, uint32_t sample);
  // Whether all that open, fit and fill have read so far was there: called when samples have been
  // read and before they are used. Optional.
  gr_status (*check)(const void *self);

  int (*metadata)(const void *self, gr_metadata out[GR_MAX_METADATA]);  // optional
  // After fit, and again after restore. Optional.
  int (*tables)(const void *self, gr_data_table out[GR_MAX_TABLES]);
  int (*skipped)(const void *self, const gr_skipped **out);  // optional: reasons
  // Once the split is known: computes what depends on the training samples. Optional.
  gr_status (*fit)(void *self, gr_arena *, const gr_sample *, uint32_t n);
  // What fit computed, as text for a checkpoint; and back. Optional, both or none.
  void (*save)(const void *self, gr_text *out);
  gr_status (*restore)(void *self, const char *text);

  // Texts to print. Optional; without name_of a sample is called by its number.
  void (*name_of)(const void *self, uint32_t sample, gr_text *);
  void (*reference)(const void *self, uint32_t sample, gr_text *);  // the expected output
  void (*decode)(const void *self, const int32_t *ids, int64_t n, gr_text *);  // predicted symbols
  // Appends to the report of `data inspect`: to a split's line, and in a section of its own.
  void (*summary)(const void *self, const gr_sample *, uint32_t n, gr_split, gr_text *);
  void (*inspect)(const void *self, const gr_sample *, uint32_t n, gr_text *);
  void (*classes)(const void *self, const gr_sample *, uint32_t n, gr_text *);  // the table of them
  void (*notes)(const void *self, gr_text *);       // lines that a run prints when it begins
  // Which keys to change if a model's input of that name is not given, or of another dtype; NULL:
  // none. Optional.
  const char *(*advice)(const void *self, const char *field);
  void (*record)(const void *self, gr_text *json);  // members of data.json, each after a comma

  // A hash by which ranks compare what they read; with_file: also of the size of the sample's file.
  // Optional; without it the key is compared.
  uint64_t (*fingerprint)(const void *self, uint32_t sample, bool with_file);
  void (*describe)(const void *self, uint32_t sample, gr_text *);
} gr_source_ops;

extern const gr_source_ops *const gr_data_sources[];  // ends with NULL
