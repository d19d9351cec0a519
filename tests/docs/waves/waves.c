// waves.c - a source of data that is computed: notes as waves of different lengths.
#include <math.h>
#include "base/rng.h"
#include "runtime/data/source.h"

// What `open` makes, and the other functions get as `self`.
typedef struct waves {
  int64_t count, notes;
  double noise;
} waves;

// Reads the keys of the source, which the schema has checked. Memory comes from the request's
// arena.
static gr_status open_waves(gr_source_request *r, void **out) {
  waves *w = GR_NEW(r->arena, waves, 1);
  *out = w;
  GR_TRY(gr_conf_int(r->conf, "count", 0, &w->count));
  GR_TRY(gr_conf_int(r->conf, "notes", 0, &w->notes));
  GR_TRY(gr_conf_float(r->conf, "noise", 0, &w->noise));
  if (w->notes > w->count)  // gr_about names the keys: the error gets the place of the first
    return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%lld waves cannot have %lld notes",
                            (long long)w->count, (long long)w->notes),
                    "notes count");
  return GR_OK;
}

enum { X, LENGTHS, Y };

// x [n, t, 1] is padded to the length of the batch's bucket; a model's input `y` is bound to y [n].
static int fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[X] = (gr_field_spec){.name = "x", .dtype = GR_F32, .rank = 2, .dim = {GR_DIM_LENGTH, 1}};
  out[LENGTHS] = (gr_field_spec){.name = "lengths", .dtype = GR_I32, .pad_length = true};
  out[Y] = (gr_field_spec){.name = "y", .dtype = GR_I32};
  return 3;
}

static uint32_t count(const void *self) { return (uint32_t)((const waves *)self)->count; }

static int32_t length_of(uint32_t sample) { return 20 + (int32_t)(sample * 7 % 50); }

// The key decides the split: here it is the sample's number. A name would be hashed with
// gr_hash_text.
static gr_sample_info info(const void *self, uint32_t sample) {
  (void)self;
  uint32_t key[4];
  gr_philox(sample, 0, 0, key);
  return (gr_sample_info){.key = (uint64_t)key[0] << 32 | key[1],
                          .split = GR_SPLIT_BY_KEY,
                          .length = length_of(sample)};
}

// Writes one sample into memory that is 0. In training noise is added, other noise in each epoch:
// it is drawn from (seed, stream, epoch) at an index of the sample's own, and so is the same on any
// number of ranks and threads.
static void fill(const void *self, uint32_t sample, const gr_loaded *loaded, const gr_draw *draw,
                 gr_row *row) {
  const waves *w = self;
  int32_t note = (int32_t)(sample % (uint32_t)w->notes), length = length_of(sample);
  gr_rng r = gr_rng_make(draw->seed, "waves", draw->epoch);
  float *x = row->at[X];
  (void)loaded;
  for (int32_t t = 0; t < length; t++) {
    double noise =
        draw->augment ? gr_rng_normal(&r, (uint64_t)draw->number << 16 | (uint64_t)t) : 0;
    x[t] = (float)(sin(0.2 * t * (note + 1)) + w->noise * noise);
  }
  *(int32_t *)row->at[LENGTHS] = length;
  *(int32_t *)row->at[Y] = note;
}

// A model with a parameter `classes` is as wide as there are notes.
static int metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  out[0] = (gr_metadata){"classes", ((const waves *)self)->notes};
  return 1;
}

const gr_source_ops gr_source_waves = {.name = "waves",
                                       .sample = "wave",
                                       .unit = "moment",
                                       .open = open_waves,
                                       .fields = fields,
                                       .count = count,
                                       .info = info,
                                       .fill = fill,
                                       .metadata = metadata};
