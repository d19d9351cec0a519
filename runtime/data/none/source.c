// source.c - the source `none`: it has no samples. Models whose programs take no batches, such as
// those that act in an environment of their own, need no data.
#include "runtime/data/source.h"

static gr_status open_none(gr_source_request *r, void **out) {
  (void)r;
  *out = NULL;
  return GR_OK;
}

static int none_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self, (void)out;
  return 0;
}

static uint32_t none_count(const void *self) {
  (void)self;
  return 0;
}

extern const gr_source_ops gr_source_none;
const gr_source_ops gr_source_none = {.name = "none",
                                      .sample = "sample",
                                      .empty = true,
                                      .open = open_none,
                                      .fields = none_fields,
                                      .count = none_count};
