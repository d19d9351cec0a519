// parts.h - internals that the data set and the loader share; private to this folder.
#pragma once
#include <pthread.h>
#include "base/json.h"
#include "runtime/data/dataset.h"
#include "runtime/data/labels.h"
#include "runtime/data/transforms.h"

// What was loaded of samples, kept while there is room; shared by all loaders.
typedef struct gr_cache {
  pthread_mutex_t lock;
  gr_loaded *kept;   // by sample; at is NULL: not kept
  bool *unreadable;  // by sample
  size_t bytes, most;
  size_t spared;  // of `most`, for what the source keeps, where not all samples have room
  uint32_t n_kept, n_unreadable;
} gr_cache;

// Which training samples an epoch has, where not each of them once: data.sampler (sampler.c).
typedef struct gr_sampler gr_sampler;

struct gr_dataset {
  gr_arena *arena;
  const gr_source_ops *ops;
  void *self;     // the source's
  gr_conf *conf;  // the section `data`, for places; NULL: it was created without one
  gr_key_doc *doc;
  const char *const *inputs;  // see gr_source_request
  int n_inputs;
  bool kept;  // it is for the weights of a run (gr_dataset_open_kept)
  const gr_json *record;
  const gr_tokenizer *tokenizer;  // of data.tokenizer; NULL: none
  gr_dataset_options options;
  gr_share validation;                 // of the options
  gr_field_spec field[GR_MAX_FIELDS];  // the source's, "y" and "class_weight" of classes, "weight"
  int n_fields;
  int y_field;                                // number of "y" in field, if there are classes
  gr_classes *classes;                        // the source's; NULL: labels are none
  gr_omitted skipped[GR_MAX_SKIPS], limited;  // see gr_source_request
  gr_transforms *transforms;                  // of x; NULL: none
  bool fitted;                                // their statistics are known: computed or restored
  char *restored;                             // what was restored last; NULL: nothing
  pthread_mutex_t fitting;
  gr_sample *samples;
  bool weights;         // samples have weights of their own
  gr_sampler *sampler;  // NULL: each training sample once in an epoch
  uint32_t count;
  uint32_t listed;      // in the source's files, with what is left out
  gr_loc place;         // of errors about all samples
  int32_t max_length;   // longer ones are left out; 0: no limit
  gr_omitted too_long;  // these are
  gr_unreadable unreadable;
  gr_bucket_info *buckets;
  int n_buckets;
  gr_contract contract;   // of its fields, buckets, metadata and tables
  uint32_t **members[2];  // [split][bucket] -> samples, rising
  gr_cache cache;
};

// The hash of the bytes of its tokenizer's file, which is there.
const char *gr_dataset_tokenizer_hash(gr_arena *, const gr_dataset *);

// Errors about settings get the place of the first that the configuration gives, and a hint.
GR_MUST_USE gr_status gr_dataset_place_error(const gr_dataset *, gr_status);
// What all kinds of data read of the section `data`; bounds are in the arena.
GR_MUST_USE gr_status gr_dataset_read_options(gr_arena *, gr_conf *data, bool has_length,
                                              gr_dataset_options *out);
// GR_ERR_CONFIG about the first option whose value is not possible.
GR_MUST_USE gr_status gr_dataset_check_options(const gr_dataset_options *);

// Chooses the buckets, leaves out what is too long, and lists each bucket's members.
GR_MUST_USE gr_status gr_dataset_make_buckets(gr_dataset *);

// Appends lines that name classes without training samples, and say that validation has none.
void gr_dataset_put_lacking(const gr_dataset *, gr_text *);

// Writes a sample into a row that is 0: what the source fills in, and its class. `loaded` is what
// gr_cache_get gave.
void gr_dataset_fill(const gr_dataset *, uint32_t sample, const gr_loaded *loaded, const gr_draw *,
                     gr_row *);

// Computes what transforms need of the training samples, unless it is known: reads all of them.
// Called before the first row is filled, so that planning reads no samples.
GR_MUST_USE gr_status gr_dataset_fit(gr_dataset *);
bool gr_dataset_fitted(gr_dataset *);  // whether nothing is left to compute

// One batch of an epoch: samples[first .. first + count) of its order.
typedef struct gr_order_batch {
  int bucket;
  uint32_t first, count;
} gr_order_batch;
typedef struct gr_order {
  uint32_t *samples;
  uint32_t *repeat;  // [count of data]: how often the epoch has had this sample before
  gr_order_batch *batches;
  uint32_t n;
  uint32_t *scratch;  // as long as both
} gr_order;
typedef struct gr_order_spec {
  gr_split split;
  int batch;             // rows of the global batch
  const int *of_bucket;  // the same by bucket; NULL: `batch`
  uint64_t seed;
  bool shuffle;
} gr_order_spec;
gr_order gr_order_make(gr_arena *, const gr_dataset *, const gr_order_spec *);  // memory for it
// Writes the batches of an epoch: the same on every rank.
void gr_order_fill(gr_order *, const gr_dataset *, const gr_order_spec *, uint32_t epoch);

// Makes the data set's cache of loaded samples, which is empty at first.
void gr_cache_open(gr_dataset *);
// Frees it with all that it keeps.
void gr_cache_close(gr_dataset *);
// Loads a sample and forgets what was loaded; the error has no place yet.
GR_MUST_USE gr_status gr_cache_try(gr_dataset *, uint32_t sample);
// What is loaded of a sample. *kept: it is the cache's, else the caller frees it. *there is false
// for one that cannot be used and may be skipped.
GR_MUST_USE gr_status gr_cache_get(gr_dataset *, uint32_t sample, gr_loaded *out, bool *kept,
                                   bool *there);

// Reads the weights of classes and lists the training samples; *out is NULL for `shuffle`.
// `member` [n] are the training samples. GR_ERR_CONFIG, or GR_ERR_DATA.
GR_MUST_USE gr_status gr_sampler_make(gr_arena *, const gr_dataset *, const uint32_t *member,
                                      uint32_t n, gr_sampler **out);
// Writes the n samples of an epoch, in no particular order.
void gr_sampler_draw(const gr_sampler *, uint64_t seed, uint32_t epoch, uint32_t n, uint32_t *out);
