// loader.h - one rank's batches, prepared by worker threads ahead of the step that uses them.
//
// The order of an epoch depends on (seed, epoch, batch sizes) only, not on ranks, workers or
// timing. A global batch is `batch` rows of one bucket. Samples that do not fill a batch of their
// bucket are moved to empty rows of the next bucket's last batch if there are enough. Rows without
// a sample are padding: of weight 0, they hold samples of the batch again, so that no value is one
// that only padding has. Rank r has rows [r R, (r + 1) R) of every global batch, with R =
// ceil(batch / ranks), rounded up to a multiple of `micro`; rows beyond `batch` are padding.
// interleaved: the ranks' rows of the first micro-step come first, then those of the second, ...
#pragma once
#include "runtime/data/dataset.h"

typedef struct gr_loader_spec {
  gr_split split;
  int batch;             // rows of the global batch
  const int *of_bucket;  // the same by bucket, which the loader borrows; NULL: `batch`
  int micro;             // micro-steps that divide a rank's rows; 0: 1
  int rank, ranks;
  bool interleaved;
  uint64_t seed;
  bool shuffle;  // else bucket by bucket in the order of the samples, in every epoch
  bool augment;
  uint32_t epoch, first;  // the batch to start with; `first` may be the number of batches
  uint32_t epochs;        // number of epochs, including the first; 0: unlimited
  int workers;            // number of threads; 0: gr_loader_next does the work
  int prefetch;           // number of batches prepared ahead, at least 1
} gr_loader_spec;

typedef struct gr_loader gr_loader;

// Fails with GR_ERR_CONFIG about a setting (gr_about), or GR_ERR_DATA.
GR_MUST_USE gr_status gr_loader_open(gr_dataset *, const gr_loader_spec *, gr_loader **out);
// *out is the next batch, owned by the loader and valid until the next call; NULL after the last.
// An error of a worker is returned at the batch it belongs to, and GR_ERR_STOPPED while a batch is
// not made yet and the process is asked to stop (base/stop.h), deferred or not; after either the
// loader can only be closed.
GR_MUST_USE gr_status gr_loader_next(gr_loader *, const gr_batch **out);
// Makes the first batch of such a loader and throws it away: the error is that of reading it.
// `fit`: with the statistics of the training samples that transforms have, which are then computed;
// otherwise, if they are not known yet, without transforms.
GR_MUST_USE gr_status gr_loader_try(gr_dataset *, const gr_loader_spec *, bool fit);
// *out is what gr_loader_next will return, while the batch before it stays valid; waits for it.
// NULL: the loader has no threads or no further batch, or an error, which gr_loader_next will
// return.
void gr_loader_peek(gr_loader *, const gr_batch **out);
// Whether gr_loader_next would return without waiting for workers or loading samples itself. NULL:
// true.
bool gr_loader_ready(gr_loader *);
void gr_loader_close(gr_loader *);  // joins the workers; NULL is fine
