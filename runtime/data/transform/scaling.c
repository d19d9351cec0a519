// scaling.c - multiplies each channel of a series by a number.
#include "runtime/data/transform.h"

static const gr_schema_key params[] = {
    {"std", "float >= 0", "0.1", "", "standard deviation of the factor, whose mean is 1"}, {0}};

static gr_status scaling_open(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  GR_TRY(gr_transform_needs_floats(x, "scaling"));
  return gr_conf_float(conf, "std", 0, *self = GR_NEW(a, double, 1));
}

static void scaling_apply(const void *self, const gr_type *type, const void *x, void *y,
                          const gr_transform_draw *draw) {
  const double *std = self;
  const float *in = x;
  float *out = y;
  int64_t channels = type->dim[type->rank - 1], n = gr_type_count(type);
  for (int64_t c = 0; c < channels; c++) {
    double by = 1 + *std * gr_transform_normal(draw, (uint32_t)c);
    for (int64_t i = c; i < n; i += channels) out[i] = (float)(by * (double)in[i]);
  }
}

const gr_transform_ops gr_transform_scaling = {
    .name = "scaling",
    .doc = "multiplies each channel of a series by a normal number (Um et al. 2017)",
    .params = params,
    .least_rank = 2,
    .most_rank = 2,
    .open = scaling_open,
    .apply = scaling_apply};
