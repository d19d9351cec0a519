// loader.h - one rank's batches, made ahead of the step by threads.
//
// The global order of an epoch is a function of (seed, epoch, batch size) and of nothing else. A
// global batch is `batch` rows of one bucket; what does not fill one takes the empty rows of the
// next bucket's last batch where they suffice. Rows without a sample are padding of weight 0. Rank
// r has rows [r R, (r + 1) R) of every global batch, R = ceil(batch / ranks) or more if the loader
// is told; rows past `batch` weigh 0.
#pragma once
#include "runtime/data/dataset.h"

typedef struct gr_loader_spec {
  gr_split split;
  int batch;  // rows of the global batch
  int rows;   // of each rank, if more than ceil(batch / ranks)
  int rank, ranks;
  uint64_t seed;
  bool shuffle;  // else bucket by bucket in the order of the samples, in every epoch
  bool augment;
  uint32_t epoch, first;  // starts at this batch of this epoch; first may be the epoch's count
  uint32_t epochs;        // how many, with the first; 0: no end
  int workers;            // threads; 0: gr_loader_next does the work
  int prefetch;           // batches made ahead, at least 1
} gr_loader_spec;

typedef struct gr_loader gr_loader;

int gr_loader_rows(const gr_loader_spec *);  // of each rank
// Fails with GR_ERR_CONFIG about a setting (gr_about), or GR_ERR_DATA.
GR_MUST_USE gr_status gr_loader_open(gr_dataset *, const gr_loader_spec *, gr_loader **out);
// The next batch, NULL after the last. It is the loader's, until the next call. An error of a
// worker comes here, at the batch it belongs to; the loader is then only good to be closed.
GR_MUST_USE gr_status gr_loader_next(gr_loader *, const gr_batch **out);
double gr_loader_waited(const gr_loader *);  // seconds the caller has waited for batches so far
void gr_loader_close(gr_loader *);           // joins the workers; NULL is fine
// Micro-batch `i` of `n` of a rank's rows, which n divides.
gr_batch gr_batch_slice(const gr_batch *, int i, int n);
