// dataset.h - what a run is trained on, whatever its kind: shapes by bucket, batches by rank.
//
// There is one kind so far, speech. A data set opens from the configuration's `data` section and
// gives batches as named fields, which the training loop copies into the graph's inputs of the
// same names. Nothing else in the program knows what the data are.
#pragma once
#include "compose/tree/conf.h"
#include "ir/graph.h"

enum { GR_MAX_FIELDS = 8, GR_MAX_BUCKETS = 32 };

typedef struct gr_feed_field {
  const char *name;
  gr_type type;    // rows of one rank
  const void *at;  // NULL where only shapes are asked for
} gr_feed_field;

typedef struct gr_feed {  // one rank's part of one global batch
  int bucket, n_fields;
  gr_feed_field field[GR_MAX_FIELDS];
  uint32_t epoch, index, of;  // batch `index` of the epoch's `of`
  uint32_t samples;           // of weight 1, in the global batch
  const uint32_t *item;       // by row: which sample it is; UINT32_MAX: padding
  int rows;
} gr_feed;

typedef struct gr_fact {  // what the data say of the model: "vocab" 29, "mels" 80
  const char *name;
  int64_t value;
} gr_fact;

typedef enum gr_split { GR_SPLIT_TRAIN, GR_SPLIT_VALIDATION } gr_split;

typedef struct gr_feeder_spec {
  gr_split split;
  int batch;  // rows of the global batch
  int rows;   // of each rank, where more than its share; the rest is padding
  int rank, ranks;
  uint64_t seed;
  bool training;          // shuffled and augmented
  uint32_t epoch, first;  // starts at this batch of this epoch
  uint32_t epochs;        // how many; 0: no end
} gr_feeder_spec;

typedef struct gr_dataset gr_dataset;
typedef struct gr_feeder gr_feeder;

// What a key of the configuration does, in a line, for hints; NULL: nothing is known of it.
typedef const char *gr_key_doc(const char *key);
GR_MUST_USE gr_status gr_dataset_open(gr_arena *, gr_conf *data, gr_key_doc *, gr_dataset **out);
// Also opens and decodes every recording. What cannot be used is left out, whatever the
// configuration says: gr_dataset_unreadable counts it.
GR_MUST_USE gr_status gr_dataset_open_all(gr_arena *, gr_conf *data, gr_key_doc *,
                                          gr_dataset **out);
void gr_dataset_close(gr_dataset *);

int gr_dataset_buckets(const gr_dataset *);
const char *gr_dataset_bucket_name(gr_arena *, const gr_dataset *, int bucket);  // "t300"
// The fields of `rows` rows of a bucket, shapes only.
void gr_dataset_shapes(const gr_dataset *, int bucket, int rows, gr_feed *out);
int gr_dataset_facts(const gr_dataset *, gr_fact out[GR_MAX_FIELDS]);
uint32_t gr_dataset_count(const gr_dataset *, gr_split);
uint32_t gr_dataset_batches(const gr_dataset *, gr_split, int batch);  // of an epoch
// One line about what was left out; false: nothing was.
bool gr_dataset_skipped(gr_dataset *, gr_text *);
uint64_t gr_dataset_unreadable(gr_dataset *);  // samples that this process could not use so far
// Place and reason of one of them; after gr_dataset_open_all in the manifest's order.
const char *gr_dataset_unreadable_line(gr_dataset *, uint64_t i);
void gr_dataset_inspect(gr_dataset *, int batch, gr_text *);

// What tells one data set from another, by sample: ranks compare these (same.c). with_file: the
// size of its file counts, too. The place is the line that lists it.
uint32_t gr_dataset_samples(const gr_dataset *);
uint64_t gr_dataset_fingerprint(const gr_dataset *, uint32_t item, bool with_file);
gr_loc gr_dataset_place(const gr_dataset *, uint32_t item);
void gr_dataset_describe(const gr_dataset *, uint32_t item, gr_text *);

// The numbers of n samples of a split, rising and from all over it; it has at least as many.
void gr_dataset_spread(const gr_dataset *, gr_split, uint32_t n, uint32_t *out);
size_t gr_dataset_cached(const gr_dataset *);  // bytes of samples kept in memory, so far

// For people: what a sample's answer is, and what a row of predicted symbols says.
const char *gr_dataset_reference(const gr_dataset *, uint32_t item);
const char *gr_dataset_item_name(const gr_dataset *, uint32_t item);
void gr_dataset_decode(const gr_dataset *, const int32_t *ids, int64_t n, gr_text *);

GR_MUST_USE gr_status gr_feeder_open(gr_dataset *, const gr_feeder_spec *, gr_feeder **out);
GR_MUST_USE gr_status gr_feeder_next(gr_feeder *, gr_feed *out, bool *out_end);
void gr_feeder_close(gr_feeder *);
// Part `part` of `parts` of a rank's rows, which they divide.
gr_feed gr_feed_part(const gr_feed *, int part, int parts);
