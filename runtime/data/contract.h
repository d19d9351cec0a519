// contract.h - what a plan takes from data: fields and their sizes, buckets, counts of samples, and
// the numbers and tables that parameters and buffers of the model take.
//
// An open data set has a contract (gr_dataset_contract), and data.expect of a configuration
// declares one. The compiler is given a contract alone, so a plan is the same with and without the
// data; a run compares what is declared with what the data have.
#pragma once
#include "runtime/data/source.h"

enum {
  GR_MAX_BUCKETS = 32,
  GR_MAX_LENGTH = 1 << 24,  // of a sample
};

typedef struct gr_field {
  const char *name;
  gr_type type;      // axis 0 is the rows
  const void *data;  // NULL if only shapes are requested
} gr_field;

#define GR_NO_SAMPLE UINT32_MAX
typedef struct gr_batch {  // one rank's part of one global batch
  int bucket, rows, n_fields;
  gr_field field[GR_MAX_FIELDS];  // the source's, then "weight"
  const uint32_t *sample;         // by row: its number in the data set, or GR_NO_SAMPLE
  uint32_t epoch, index, of;      // batch `index` of the `of` batches of the epoch
  uint32_t samples;               // rows of the global batch with a sample, readable or not
} gr_batch;

typedef struct gr_bucket_info {
  int32_t length;                 // the largest length: all samples are padded to it
  int32_t extent[GR_MAX_FIELDS];  // by field: its GR_DIM_EXTENT, at least 1
  uint32_t count[2];              // samples of each gr_split
} gr_bucket_info;

typedef struct gr_contract {
  const gr_source_ops *ops;
  const gr_field_spec *field;  // the last is "weight"
  int n_fields;
  const gr_bucket_info *buckets;  // none is empty, lengths ascend
  int n_buckets;
  gr_metadata metadata[GR_MAX_METADATA];
  int n_metadata;
  gr_data_table tables[GR_MAX_TABLES];  // their names and types
  int n_tables;
} gr_contract;

// Reads that of `expect`, a mapping with members of data.json (docs/data.md) or the path of a file
// that has them, for a source. GR_ERR_CONFIG at what is missing or impossible.
GR_MUST_USE gr_status gr_contract_read(gr_arena *, gr_conf *expect, const gr_source_ops *,
                                       gr_contract *out);
// Fails with GR_ERR_DATA at the first member of `expect` that differs from the same of `record`,
// the text of data.json.
GR_MUST_USE gr_status gr_contract_compare(gr_arena *, gr_conf *expect, const char *record);
// Appends members of data.json: source, counts, metadata, fields, buckets and tables.
void gr_contract_json(const gr_contract *, gr_text *);

// The fields of `rows` rows of a bucket: shapes only, their data is NULL.
void gr_contract_shapes(const gr_contract *, int bucket, int rows, gr_batch *out);
// Micro-batch `i` of `n` of a rank's rows, which n divides.
gr_batch gr_batch_slice(const gr_batch *, int i, int n);
const char *gr_contract_bucket_name(gr_arena *, const gr_contract *, int bucket);  // "t300", "all"
uint32_t gr_contract_count(const gr_contract *, gr_split);  // samples of a split
// Batches of an epoch; in each the same (order.c). of_bucket: the rows of a global batch by bucket;
// NULL: `batch`.
uint32_t gr_contract_batches(const gr_contract *, gr_split, int batch, const int *of_bucket);
// About the bytes that all samples have in batches, if the source loads them before it fills in
// rows: what a cache of them takes.
double gr_contract_cached(const gr_contract *);
