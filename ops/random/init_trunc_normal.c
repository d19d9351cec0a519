// init_trunc_normal.c - initial values drawn from a normal distribution that is truncated at two
// standard deviations.
#include <math.h>
#include "ops/kernels/source.h"
#include "ops/ops.h"

// Rejection sampling: about one value in 22 is out of bounds and is drawn again from distant
// indices.
static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const gr_init *a = attr;
  gr_rng_normals(rng, first, n, out);
  for (int64_t i = 0; i < n; i++) {
    for (uint64_t k = 1; fabs(out[i]) > 2; k++)
      out[i] = gr_rng_normal(rng, first + (uint64_t)i + (k << 44));
    out[i] = a->first + a->second * out[i];
  }
}

static gr_status init_trunc_normal_cpu(const gr_launch *l) { return gr_init_draw(l, draw); }

static const gr_attr attrs[] = {
    GR_INIT_SHAPE,
    GR_INIT_NUMBER("mean", first, "0", "the mean"),
    GR_INIT_NUMBER("std", second, "1", "the standard deviation before truncation"),
    GR_INIT_STREAM,
    {0}};
static const gr_case cases[] = {{{0}, .attr = &(gr_init){{2, {4, 6}}, 0, 0.02, 1, 7}},
                                {{0}, .attr = &(gr_init){{1, {500}}, 1, 0.5, 1, 8}},
                                {{0}}};

const gr_op gr_op_init_trunc_normal = {
    GR_INIT_FIELDS(init_trunc_normal),
    .doc =
        "Values drawn from a normal distribution; those beyond two standard deviations are drawn "
        "again.",
};
