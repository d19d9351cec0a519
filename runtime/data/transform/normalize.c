// normalize.c - subtracts a mean and divides by a deviation, per channel: given ones, or those of
// the training samples.
#include <math.h>
#include "runtime/data/statistics.h"
#include "runtime/data/transform.h"

// Bytes are first divided by 255. The statistics are means, then deviations, each [channels].
typedef struct normalize {
  int channels;
  bool given;
  double *mean_std,
      *m2;       // [2 channels]; of those added so far: [channels] sums of squared differences
  double count;  // of values of a channel that have been added
} normalize;

static const gr_schema_key params[] = {
    {"mean", "[float] | float | null", "null", "",
     "mean of each channel, or one of all; null: that of the training samples"},
    {"std", "[float > 0] | float > 0 | null", "null", "",
     "standard deviation of each channel, or one of all; null: that of the training samples"},
    {0}};

static double number_of(const gr_conf *c) { return gr_conf_number(c); }

static gr_status read_channels(gr_conf *conf, const char *name, int channels, double *out) {
  const gr_conf *c = gr_conf_find(conf, name);
  bool list = c->kind == GR_CONF_LIST;
  if (list && c->n != channels)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of normalize has %d numbers, x has %d channels", name,
                c->n, channels),
        "a number for each channel, or one for all");
  for (int i = 0; i < channels; i++) out[i] = number_of(list ? c->items[i] : c);
  return GR_OK;
}

static gr_status normalize_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  normalize *t = *self = GR_NEW(a, normalize, 1);
  bool mean = gr_conf_find(conf, "mean")->kind != GR_CONF_NULL;
  bool deviation = gr_conf_find(conf, "std")->kind != GR_CONF_NULL;
  int64_t channels = x->dim[x->rank - 1];
  x->dtype = GR_F32;
  if (mean != deviation)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "normalize has only '%s'", mean ? "mean" : "std"),
        "give mean and std, or neither: they are then those of the training samples");
  if (channels > 65536)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "normalize takes at most 65536 channels, x has %lld",
                   (long long)channels);
  t->channels = (int)channels, t->given = mean;
  t->mean_std = GR_NEW(a, double, 2 * channels);
  t->m2 = GR_NEW(a, double, channels);
  if (!mean) return GR_OK;
  GR_TRY(read_channels(conf, "mean", t->channels, t->mean_std));
  return read_channels(conf, "std", t->channels, t->mean_std + channels);
}

static inline double value_at(const gr_type *type, const void *x, int64_t i) {
  return type->dtype == GR_U8 ? ((const uint8_t *)x)[i] / 255.0 : (double)((const float *)x)[i];
}

static void normalize_apply(const void *self, const gr_type *type, const void *x, void *y,
                            const gr_transform_draw *draw) {
  const normalize *t = self;
  int64_t n = gr_type_count(type), c = 0;
  (void)draw;
  for (int64_t i = 0; i < n; i++) {
    double d = value_at(type, x, i) - t->mean_std[c];
    ((float *)y)[i] = (float)(d / t->mean_std[t->channels + c]);
    if (++c == t->channels) c = 0;
  }
}

// ---- Statistics ---------------------------------------------------------------------------------

static double *normalize_statistics(void *self, int *n) {
  const normalize *t = self;
  *n = t->given ? 0 : 2 * t->channels;
  return t->mean_std;
}

// Merges the mean and the squared differences of one sample with those before (Chan, Golub, LeVeque
// 1979): samples are read once.
static void normalize_add(void *self, const gr_type *type, const void *x) {
  normalize *t = self;
  int64_t n = gr_type_count(type) / t->channels;
  for (int c = 0; c < t->channels; c++) {
    double first = value_at(type, x, c), sum = 0, squares = 0;
    for (int64_t i = c; i < n * t->channels; i += t->channels) sum += value_at(type, x, i) - first;
    double mean = first + sum / (double)n;
    for (int64_t i = c; i < n * t->channels; i += t->channels) {
      double d = value_at(type, x, i) - mean;
      squares += d * d;
    }
    double by = mean - t->mean_std[c], all = t->count + (double)n;
    t->m2[c] += squares + by * by * t->count * (double)n / all;
    t->mean_std[c] += by * (double)n / all;
  }
  t->count += (double)n;
}

// A constant channel is only centred.
static void normalize_finish(void *self) {
  normalize *t = self;
  for (int c = 0; c < t->channels; c++) {
    double deviation = t->count > 0 ? sqrt(t->m2[c] / t->count) : 0;
    t->mean_std[t->channels + c] = gr_statistics_divisor(t->mean_std[c], deviation);
  }
}

const gr_transform_ops gr_transform_normalize = {
    .name = "normalize",
    .doc = "(x - mean) / std per channel, to f32; bytes are divided by 255 before",
    .params = params,
    .mask = GR_MASK_KEPT,
    .least_rank = 1,
    .most_rank = 4,
    .always = true,
    .open = normalize_open,
    .apply = normalize_apply,
    .statistics = normalize_statistics,
    .add = normalize_add,
    .finish = normalize_finish};
