// brightness.c - multiplies all values of a sample by one number.
#include "runtime/data/transform.h"

static const gr_schema_key params[] = {
    {"by", "float >= 0 <= 1", "0.2", "", "the factor is from 1 - by to 1 + by"}, {0}};

static void brightness_apply(const void *self, const gr_type *type, const void *x, void *y,
                             const gr_transform_draw *draw) {
  double factor = gr_transform_factor(self, draw);
  for (int64_t i = 0, n = gr_type_count(type); i < n; i++)
    gr_transform_put(type->dtype, y, i, factor * gr_transform_get(type->dtype, x, i));
}

const gr_transform_ops gr_transform_brightness = {
    .name = "brightness",
    .doc = "multiplies a sample by a random factor; bytes end at 0 and 255",
    .params = params,
    .mask = GR_MASK_KEPT,
    .least_rank = 3,
    .most_rank = 4,
    .open = gr_transform_open_by,
    .apply = brightness_apply};
