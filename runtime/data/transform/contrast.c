// contrast.c - moves all values of a sample towards their mean, or away from it.
#include "runtime/data/transform.h"

static const gr_schema_key params[] = {
    {"by", "float >= 0 <= 1", "0.2", "",
     "differences from the sample's mean are multiplied by 1 - by to 1 + by"},
    {0}};

static void contrast_apply(const void *self, const gr_type *type, const void *x, void *y,
                           const gr_transform_draw *draw) {
  double factor = gr_transform_factor(self, draw);
  double mean = 0;
  int64_t n = gr_type_count(type);
  for (int64_t i = 0; i < n; i++) mean += gr_transform_get(type->dtype, x, i);
  mean /= (double)n;
  for (int64_t i = 0; i < n; i++) {
    double v = gr_transform_get(type->dtype, x, i);
    gr_transform_put(type->dtype, y, i, mean + factor * (v - mean));
  }
}

const gr_transform_ops gr_transform_contrast = {
    .name = "contrast",
    .doc = "changes how far values are from the sample's mean; bytes end at 0 and 255",
    .params = params,
    .mask = GR_MASK_KEPT,
    .least_rank = 3,
    .most_rank = 4,
    .open = gr_transform_open_by,
    .apply = contrast_apply};
