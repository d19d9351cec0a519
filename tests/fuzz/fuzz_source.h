// fuzz_source.h - opens a source of data on damaged files: it lists samples or fails, and what it
// lists can be read, put into batches, and reported.
#pragma once
#include "fuzz_folder.h"
#include "runtime/data/loader.h"

// Asks a data set for all that it says of itself and of its first samples.
static inline void fuzz_report(gr_dataset *d) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_dataset_inspect(d, 2, &t);
  gr_dataset_classes(d, &t);
  gr_dataset_json(d, &t);
  gr_dataset_skipped(d, &t);
  for (uint32_t i = 0; i < gr_dataset_samples(d) && i < 8; i++) {
    gr_dataset_describe(d, i, &t);
    (void)gr_dataset_sample_name(a, d, i), (void)gr_dataset_reference(a, d, i);
    (void)gr_dataset_fingerprint(d, i, true);
  }
  gr_arena_destroy(a);
}

// A few batches of a split, built by this thread.
static inline gr_status fuzz_batches(gr_dataset *d, gr_split split) {
  gr_loader_spec spec = {.split = split, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  const gr_batch *b = NULL;
  gr_loader *l;
  if (!gr_dataset_count(d, split)) return GR_OK;
  spec.shuffle = split == GR_SPLIT_TRAIN;
  GR_TRY(gr_loader_open(d, &spec, &l));
  gr_status s = gr_loader_next(l, &b);
  for (int i = 0; i < 3 && b && !s; i++) s = gr_loader_next(l, &b);
  gr_loader_close(l);
  return s;
}

// Errors are printed after all else is closed: they own what they say.
static inline void fuzz_source(const gr_source_ops *ops, const void *spec) {
  gr_dataset_options o = {.n_buckets = 2,
                          .validation_fraction = 0.25,
                          .length_multiple = 1,
                          .skip_unreadable = true,
                          .cache_bytes = 1 << 16};
  gr_dataset *d = NULL;
  gr_status s = gr_dataset_create(ops, spec, &o, &d), more = GR_OK;
  HOLDS(s ? !d : d != NULL);
  if (d) {
    more = gr_dataset_load_all(d);
    for (int split = 0; split < 2; split++) more = gr_also(more, fuzz_batches(d, (gr_split)split));
    fuzz_report(d);
    gr_dataset_close(d);
  }
  fuzz_print(s), fuzz_print(more);
}
