// check.c - looks at the files of all samples before a run begins, and reads all of them for
// `graphrun data inspect`. See dataset.h.
#include <stdlib.h>
#include "runtime/data/files.h"
#include "runtime/data/parts.h"

// ---- Heads --------------------------------------------------------------------------------------

static gr_status probe(void *self, uint32_t sample) {
  gr_dataset *d = self;
  gr_status s = d->ops->probe(d->self, d->samples[sample].index);
  return gr_unreadable_add(&d->unreadable, gr_dataset_place(d, sample), s);
}

gr_status gr_dataset_check_files(gr_dataset *d, int part, int parts) {
  if (!d->ops->probe || d->options.skip_unreadable) return GR_OK;
  return gr_files_look(&(gr_files){.verb = "looking for",
                                   .noun = "files",
                                   .n = d->count,
                                   .part = (uint32_t)part,
                                   .parts = (uint32_t)parts,
                                   .threads = GR_FILES_WAIT,
                                   .look = probe,
                                   .self = d});
}

// ---- Reading all --------------------------------------------------------------------------------

typedef struct reader {
  gr_dataset *data;
  gr_status *errors;  // by sample
} reader;

static gr_status read_one(void *self, uint32_t sample) {
  reader *r = self;
  gr_status s = gr_cache_try(r->data, sample);
  if (gr_status_code(s) != GR_ERR_DATA) return s;
  r->errors[sample] = s;
  return GR_OK;
}

// Errors that the threads found are reported in the order of the samples.
gr_status gr_dataset_load_all(gr_dataset *d) {
  if (!d->ops->load) return GR_OK;
  reader r = {.data = d, .errors = calloc((size_t)d->count + 1, sizeof *r.errors)};
  if (!r.errors) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read %u files", d->count);
  gr_status first = gr_files_look(&(gr_files){.verb = "reading",
                                              .noun = d->unreadable.samples,
                                              .n = d->count,
                                              .look = read_one,
                                              .self = &r});
  for (uint32_t i = 0; i < d->count; i++) {
    gr_status s = gr_unreadable_add(&d->unreadable, gr_dataset_place(d, i), r.errors[i]);
    if (first)
      gr_status_drop(s);
    else
      first = s;
  }
  free(r.errors);
  return first;
}
