// data_parts.h - what the parts of the data set and the loader share. Nobody else's business.
#pragma once
#include <pthread.h>
#include "runtime/data.h"

// Features of utterances, kept while there is room; shared by all loaders.
typedef struct gr_cache {
  pthread_mutex_t lock;
  float **features;  // [count], NULL: not kept
  int32_t *frames;   // [count]: how long a kept one is; -1: unreadable
  size_t bytes, most;
  uint64_t unreadable;
} gr_cache;

struct gr_data {
  gr_arena *arena;
  gr_data_spec spec;
  gr_features features;
  gr_item *items;
  uint32_t count;
  uint32_t listed;      // in the manifests
  int32_t most_frames;  // longer ones are left out; 0: no limit
  uint64_t skipped[GR_SKIP_COUNT];
  gr_data_bucket *buckets;
  int n_buckets;
  uint32_t **members[2];  // [part][bucket] -> utterances in manifest order
  gr_cache cache;
};

// Chooses the buckets, leaves out what is too long, and lists each bucket's members.
GR_MUST_USE gr_status gr_data_make_buckets(gr_data *);

// One batch of an epoch: utterances[first .. first + count) of its order.
typedef struct gr_order_batch {
  int bucket;
  uint32_t first, count;
} gr_order_batch;
typedef struct gr_order {
  uint32_t *utterances;
  gr_order_batch *batches;
  uint32_t n;
  uint32_t *scratch;  // as long as both
} gr_order;
gr_order gr_order_make(gr_arena *, const gr_data *, gr_data_part, int batch);  // the room
void gr_order_fill(gr_order *, const gr_data *, const gr_loader_spec *, uint32_t epoch);

void gr_cache_open(gr_data *);
void gr_cache_close(gr_data *);
// Features of an utterance, [*frames][mels], *frames <= its bucket's. *kept: they are the
// cache's, else the caller frees them. *out is NULL for an unreadable one that may be skipped.
GR_MUST_USE gr_status gr_cache_get(gr_data *, uint32_t utterance, float **out, int32_t *frames,
                                   bool *kept);
