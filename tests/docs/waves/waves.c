// waves.c - a source of data that is computed: notes as waves of different lengths.
#include <math.h>
#include "base/rng.h"
#include "runtime/data/labels.h"

// What `open` makes, and the other functions get as `self`.
typedef struct waves {
  int64_t count, notes;
  double noise;
  gr_classes classes;
} waves;

// Reads the keys of the source, which the schema has checked. Memory comes from the request's
// arena.
static gr_status waves_open(gr_source_request *r, void **out) {
  waves *w = *out = GR_NEW(r->arena, waves, 1);
  GR_TRY(gr_conf_int(r->conf, "count", 0, &w->count));
  GR_TRY(gr_conf_int(r->conf, "notes", 0, &w->notes));
  GR_TRY(gr_conf_float(r->conf, "noise", 0, &w->noise));
  if (w->notes > w->count)  // gr_about names the keys: the error gets the place of the first
    return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%lld waves cannot have %lld notes",
                            (long long)w->count, (long long)w->notes),
                    "notes count");
  w->classes.n = (int)w->notes;
  w->classes.names = GR_NEW(r->arena, const char *, w->notes);
  for (int64_t i = 0; i < w->notes; i++)
    w->classes.names[i] = gr_arena_printf(r->arena, "note %lld", (long long)i);
  return GR_OK;
}

// x [n, t, 1] is padded to the length of the batch's bucket. The data set adds y, the class.
static int waves_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = (gr_field_spec){.name = "x", .dtype = GR_F32, .rank = 2, .dim = {GR_DIM_LENGTH, 1}};
  out[1] = (gr_field_spec){.name = "lengths", .dtype = GR_I32};
  return 2;
}

static uint32_t waves_count(const void *self) { return (uint32_t)((const waves *)self)->count; }

static gr_classes *waves_classes(void *self) { return &((waves *)self)->classes; }

// The key decides the split: here it is the sample's number. A name would be hashed with
// gr_hash_text.
static gr_sample_info waves_info(const void *self, uint32_t sample) {
  const waves *w = self;
  uint32_t key[4];
  gr_philox(sample, 0, 0, key);
  return (gr_sample_info){.key = (uint64_t)key[0] << 32 | key[1],
                          .split = GR_SPLIT_BY_KEY,
                          .length = 20 + (int32_t)(sample * 7 % 50),
                          .label = 1 + (int32_t)(sample % (uint32_t)w->notes)};
}

// Writes one sample into memory that is 0. In training noise is added, other noise in each epoch:
// it is drawn from (seed, stream, epoch) at an index of the sample's own, and so is the same on any
// number of ranks and threads.
static void waves_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                       const gr_draw *draw, gr_row *row) {
  const waves *w = self;
  gr_sample_info info = waves_info(self, sample);
  gr_rng r = gr_rng_make(draw->seed, "waves", draw->epoch);
  float *x = row->field[0];
  (void)loaded;
  for (int32_t t = 0; t < info.length; t++) {
    double noise =
        draw->augment ? gr_rng_normal(&r, (uint64_t)draw->number << 16 | (uint64_t)t) : 0;
    x[t] = (float)(sin(0.2 * t * info.label) + w->noise * noise);
  }
  *(int32_t *)row->field[1] = info.length;
}

const gr_source_ops gr_source_waves = {.name = "waves",
                                       .sample = "wave",
                                       .unit = "moment",
                                       .open = waves_open,
                                       .fields = waves_fields,
                                       .count = waves_count,
                                       .info = waves_info,
                                       .classes = waves_classes,
                                       .fill = waves_fill};
