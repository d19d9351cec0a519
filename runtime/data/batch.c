// batch.c - a batch's arrays by name; see data.h.
#include <string.h>
#include "runtime/data/parts.h"

static const struct {
  const char *name;
  gr_field_type type;
  char dims[4];
} table[GR_FIELDS] = {
    {"features", GR_FIELD_F32, "ntc"}, {"lengths", GR_FIELD_I32, "n"},
    {"targets", GR_FIELD_I32, "nu"},   {"target_lengths", GR_FIELD_I32, "n"},
    {"weight", GR_FIELD_F32, "n"},
};

static void describe(const gr_batch *b, gr_field out[GR_FIELDS]) {
  const void *at[GR_FIELDS] = {b->features, b->lengths, b->targets, b->target_lengths, b->weight};
  for (int i = 0; i < GR_FIELDS; i++) {
    gr_field f = {.name = table[i].name, .type = table[i].type, .at = at[i], .bytes = 4};
    for (const char *c = table[i].dims; *c; c++) {
      f.dims[f.rank] = *c == 'n' ? b->rows : *c == 't' ? b->t : *c == 'c' ? b->mels : b->u;
      if (__builtin_mul_overflow(f.bytes, (size_t)f.dims[f.rank++], &f.bytes)) f.bytes = SIZE_MAX;
    }
    out[i] = f;
  }
}

void gr_batch_fields(const gr_batch *b, gr_field out[GR_FIELDS]) { describe(b, out); }

void gr_data_fields(const gr_data *d, int bucket, int rows, gr_field out[GR_FIELDS]) {
  const gr_data_bucket *b = d->buckets + bucket;
  gr_batch shape = {.rows = rows, .t = b->frames, .mels = d->spec.features.mels, .u = b->targets};
  describe(&shape, out);
}
