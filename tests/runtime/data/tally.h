// tally.h - what loaders of any number of ranks gave, row by row.
#pragma once
#include "base/hash.h"
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

enum { BATCH = 5, EPOCHS = 2, MAX_ROWS = 4096 };

// What a row of a global batch was: its place, and a hash of all its arrays.
typedef struct row {
  uint32_t epoch, index, utterance;
  int bucket;
  float weight;
  uint64_t hash;
} row;
typedef struct tally {
  row rows[MAX_ROWS];
  int n;
} tally;

// A row of all fields.
static inline uint64_t hash_row(const gr_batch *b, int i) {
  uint64_t h = GR_HASH_START;
  for (int f = 0; f < b->n_fields; f++) {
    size_t bytes = gr_type_bytes(&b->field[f].type) / (size_t)b->rows;
    h = gr_hash_bytes(h, (const char *)b->field[f].data + (size_t)i * bytes, bytes);
  }
  return h;
}

// The weight of row i.
static inline float weight_of(const gr_batch *b, int i) {
  gr_type t;
  return ((const float *)fixture_field(b, "weight", &t))[i];
}

// Whether two rows have the same place and contents.
static inline bool same_row(const row *x, const row *y) {
  return x->epoch == y->epoch && x->index == y->index && x->utterance == y->utterance &&
         x->bucket == y->bucket && x->weight == y->weight && x->hash == y->hash;
}

// Adds the rows of a batch.
static inline void note(tally *l, const gr_batch *b) {
  for (int i = 0; i < b->rows && l->n < MAX_ROWS; i++)
    l->rows[l->n++] =
        (row){b->epoch, b->index, b->sample[i], b->bucket, weight_of(b, i), hash_row(b, i)};
}

// One rank's loader of two epochs, shuffled and augmented.
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
static inline void read_all(gr_dataset *d, gr_loader_spec spec, int ranks, tally *out) {
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
