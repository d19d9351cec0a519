// parts.h - what the parts of the data set and the loader share. Nobody else's business.
#pragma once
#include <pthread.h>
#include "runtime/data/data.h"

// Features of utterances, kept while there is room; shared by all loaders.
typedef struct gr_cache {
  pthread_mutex_t lock;
  float **features;  // [count], NULL: not kept
  int32_t *frames;   // [count]: how long a kept one is; -1: unreadable
  size_t bytes, most;
  uint32_t unreadable;  // with -1 frames
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
  char **unreadable;     // of those, a line each: place and reason; NULL: no memory for it
  size_t room;           // of them
  pthread_mutex_t lock;  // of both and of `skipped`
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

// What becomes of a sample that cannot be used, for the reason `s`: with skip_unreadable it is
// counted, listed and, with `log`, warned of; else `s`, with its place in the manifest (column
// `col`) and a hint. Passes GR_OK through.
GR_MUST_USE gr_status gr_data_leave_out(gr_data *, const char *manifest, const gr_utterance *,
                                        int col, bool log, gr_status s);
void gr_unreadable_free(gr_data *);
// Of a recording that has `frames`, and should have `said`: an error where they are far apart.
GR_MUST_USE gr_status gr_data_check_length(const gr_utterance *, const gr_feature_spec *,
                                           int64_t said, int64_t frames);

void gr_cache_open(gr_data *);
void gr_cache_close(gr_data *);
// Computes an utterance's features and forgets them; the error has no place yet.
GR_MUST_USE gr_status gr_cache_try(gr_data *, uint32_t utterance);
// Features of an utterance, [*frames][mels], *frames <= its bucket's. *kept: they are the
// cache's, else the caller frees them. *out is NULL for an unreadable one that may be skipped.
GR_MUST_USE gr_status gr_cache_get(gr_data *, uint32_t utterance, float **out, int32_t *frames,
                                   bool *kept);
