// jitter.c - adds noise to a series.
#include "runtime/data/transform.h"

static const gr_schema_key params[] = {
    {"std", "float >= 0", "0.05", "", "standard deviation of the noise, in the units of x"}, {0}};

static gr_status jitter_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  GR_TRY(gr_transform_needs_floats(x, "jitter"));
  return gr_conf_float(conf, "std", 0, *self = GR_NEW(a, double, 1));
}

static void jitter_apply(const void *self, const gr_type *type, const void *x, void *y,
                         const gr_transform_draw *draw) {
  const double *std = self;
  const float *in = x;
  float *out = y;
  int64_t n = gr_type_count(type);
  for (int64_t i = 0; i < n; i++)
    out[i] = (float)((double)in[i] + *std * gr_transform_normal(draw, (uint32_t)i));
}

const gr_transform_ops gr_transform_jitter = {
    .name = "jitter",
    .doc = "adds independent normal noise to every value of a series (Um et al. 2017)",
    .params = params,
    .least_rank = 1,
    .most_rank = 2,
    .open = jitter_open,
    .apply = jitter_apply};
