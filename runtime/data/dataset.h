// dataset.h - what a run is trained on: the samples of a source, split and sorted into buckets.
//
// A data set opens from the configuration's section `data`, whose key `source` says which functions
// list and read samples (source.h). It is shared by any number of loaders (loader.h), also of other
// ranks in this process.
//
// A sample is of the training or of the validation split. A bucket is a class of lengths: its
// samples are padded to one static shape, so that it has one plan.
#pragma once
#include "runtime/data/source.h"

enum {
  GR_MAX_BUCKETS = 32,
  GR_MAX_LENGTH = 1 << 24,           // of a sample
  GR_MAX_LENGTH_MULTIPLE = 1 << 16,  // of gr_dataset_options.length_multiple
};

typedef struct gr_field {
  const char *name;
  gr_type type;    // axis 0 is the rows
  const void *at;  // NULL where only shapes are asked for
} gr_field;

#define GR_NO_SAMPLE UINT32_MAX
typedef struct gr_batch {  // one rank's part of one global batch
  int bucket, rows, n_fields;
  gr_field field[GR_MAX_FIELDS];  // the source's, then "weight"
  const uint32_t *sample;         // by row: its number in the data set, or GR_NO_SAMPLE
  uint32_t epoch, index, of;      // this is batch `index` of the epoch's `of`
  uint32_t samples;               // of weight 1 in the global batch, unless unreadable
} gr_batch;

typedef struct gr_bucket_info {
  int32_t length;                 // every sample here has at most this
  int32_t extent[GR_MAX_FIELDS];  // by field: its GR_DIM_EXTENT, at least 1
  uint32_t count[2];              // samples of each gr_split
} gr_bucket_info;

typedef struct gr_dataset_options {
  double validation_fraction;  // of the samples split by key, [0, 1)
  const int32_t *bounds;       // the largest length of each bucket, rising; NULL: chosen so that
  int n_buckets;               // ... at most this many buckets have the least padding
  int32_t length_multiple;     // chosen bounds are rounded up to this; 0: 1
  uint32_t limit;              // only the first so many samples of each file; 0: all
  bool skip_unreadable;        // a sample that cannot be read weighs 0 (counted), else an error
  size_t cache_bytes;          // of loaded samples kept in memory
  int workers, prefetch;       // for loaders
} gr_dataset_options;

typedef struct gr_dataset gr_dataset;
typedef const char *gr_key_doc(const char *key);  // what a key of the configuration is for, or NULL

// Opens what the section `data` says; Reads no sample, but what the
// source needs to list them. The configuration must outlive it. Fails with GR_ERR_CONFIG or
// GR_ERR_DATA and a place.
GR_MUST_USE gr_status gr_dataset_open(gr_conf *data, gr_key_doc *, gr_dataset **out);
// Also loads every sample. What cannot be used is left out, whatever the configuration says:
// gr_dataset_unreadable counts it.
GR_MUST_USE gr_status gr_dataset_open_all(gr_conf *data, gr_key_doc *, gr_dataset **out);
// Opens what the source's own `spec` says, without a configuration.
GR_MUST_USE gr_status gr_dataset_create(const gr_source_ops *, const void *spec,
                                        const gr_dataset_options *, gr_dataset **out);
void gr_dataset_close(gr_dataset *);  // after its loaders; NULL is fine
// Loads every sample, in all threads of the machine. What cannot be used is listed in the order of
// the samples, or the first of it is the error. Before loaders.
GR_MUST_USE gr_status gr_dataset_load_all(gr_dataset *);

// What the data set was opened with, defaults filled in; it lives as long as the data set.
const gr_dataset_options *gr_dataset_settings(const gr_dataset *);
int gr_dataset_buckets(const gr_dataset *);  // none is empty; lengths rise
const gr_bucket_info *gr_dataset_bucket(const gr_dataset *, int bucket);
const char *gr_dataset_bucket_name(gr_arena *, const gr_dataset *, int bucket);  // "t300", "all"
// The fields of `rows` rows of a bucket: shapes only, `at` is NULL.
void gr_dataset_shapes(const gr_dataset *, int bucket, int rows, gr_batch *out);
int gr_dataset_metadata(const gr_dataset *, gr_metadata out[GR_MAX_METADATA]);
uint32_t gr_dataset_count(const gr_dataset *, gr_split);
uint32_t gr_dataset_batches(const gr_dataset *, gr_split,
                            int batch);  // of an epoch; in each the same

uint32_t gr_dataset_samples(const gr_dataset *);  // of both splits
const gr_sample *gr_dataset_sample(const gr_dataset *, uint32_t sample);
const void *gr_dataset_source(const gr_dataset *);  // the source's `self`

// "skipped 31 of 568 utterances: 27 longer than 1000 frames, 4 ...". False: none.
bool gr_dataset_skipped(gr_dataset *, gr_text *);
uint64_t gr_dataset_unreadable(gr_dataset *);  // samples that this process could not use so far
// Place and reason of one of them; after gr_dataset_open_all in the order of the samples.
const char *gr_dataset_unreadable_line(gr_dataset *, uint64_t i);
// What `graphrun data inspect` prints: counts, what is left out, lengths, how full buckets are.
void gr_dataset_inspect(gr_dataset *, int batch, gr_text *);
void gr_dataset_json(const gr_dataset *, gr_text *);  // data.json of a run's folder
size_t gr_dataset_cached(gr_dataset *);               // bytes of samples kept in memory, so far

// What the source computed from the training samples, for a checkpoint; false: nothing. And back:
// before loaders.
bool gr_dataset_save(const gr_dataset *, gr_text *);
GR_MUST_USE gr_status gr_dataset_restore(gr_dataset *, const char *);

// What tells one data set from another, by sample: ranks compare these. with_file: the size of the
// sample's file counts, too. The place is the line that lists it.
uint64_t gr_dataset_fingerprint(const gr_dataset *, uint32_t sample, bool with_file);
gr_loc gr_dataset_place(const gr_dataset *, uint32_t sample);
void gr_dataset_describe(const gr_dataset *, uint32_t sample, gr_text *);

// The numbers of n samples of a split, rising and from all over it; it has at least as many.
void gr_dataset_sample_evenly(const gr_dataset *, gr_split, uint32_t n, uint32_t *out);
// For people: what a sample is called, what a model should say of it, and what a row of predicted
// symbols says. In the arena.
const char *gr_dataset_sample_name(gr_arena *, const gr_dataset *, uint32_t sample);
const char *gr_dataset_reference(gr_arena *, const gr_dataset *, uint32_t sample);  // or ""
void gr_dataset_decode(const gr_dataset *, const int32_t *ids, int64_t n, gr_text *);
