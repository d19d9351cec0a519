// tally.h - what loaders of any number of ranks gave, row by row.
#pragma once
#include "base/hash.h"
#include "tests/runtime/data/fixture.h"

enum { BATCH = 5, EPOCHS = 2, MOST_ROWS = 4096 };

// What a row of a global batch was: its place, and a hash of all its arrays.
typedef struct row {
  uint32_t epoch, index, utterance;
  int bucket;
  float weight;
  uint64_t hash;
} row;
typedef struct tally {
  row rows[MOST_ROWS];
  int n;
} tally;

static inline uint64_t hash_row(const gr_batch *b, int i) {
  size_t size = (size_t)b->t * (size_t)b->mels, u = (size_t)b->u;
  uint64_t h = gr_hash_bytes(GR_HASH_START, b->features + (size_t)i * size, size * sizeof(float));
  h = gr_hash_bytes(h, b->targets + (size_t)i * u, u * sizeof(int32_t));
  h = gr_hash_bytes(h, b->lengths + i, sizeof(int32_t));
  return gr_hash_bytes(h, b->target_lengths + i, sizeof(int32_t));
}

static inline void note(tally *l, const gr_batch *b) {
  for (int i = 0; i < b->rows && l->n < MOST_ROWS; i++)
    l->rows[l->n++] =
        (row){b->epoch, b->index, b->utterances[i], b->bucket, b->weight[i], hash_row(b, i)};
}

static inline gr_loader_spec plain(void) {
  return (gr_loader_spec){.batch = BATCH,
                          .ranks = 1,
                          .seed = 5,
                          .shuffle = true,
                          .augment = true,
                          .epochs = EPOCHS,
                          .prefetch = 3};
}

// All ranks' rows, in the order of the global batch.
static inline void read_all(gr_data *d, gr_loader_spec spec, int ranks, tally *out) {
  gr_loader *l[4];
  const gr_batch *b = NULL;
  spec.ranks = ranks;
  for (int r = 0; r < ranks; r++) {
    spec.rank = r;
    MUST(gr_loader_open(d, &spec, l + r));
  }
  do
    for (int r = 0; r < ranks; r++) {
      MUST(gr_loader_next(l[r], &b));
      if (b) note(out, b);
    }
  while (b);
  for (int r = 0; r < ranks; r++) gr_loader_close(l[r]);
}
