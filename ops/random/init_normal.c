// init_normal.c - initial values drawn from a normal distribution.
#include "ops/kernels/source.h"
#include "ops/ops.h"

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const gr_init *a = attr;
  gr_rng_normals(rng, first, n, out);
  for (int64_t i = 0; i < n; i++) out[i] = a->first + a->second * out[i];
}

static gr_status init_normal_cpu(const gr_launch *l) { return gr_init_draw(l, draw); }

static const gr_attr attrs[] = {GR_INIT_SHAPE,
                                GR_INIT_NUMBER("mean", first, "0", "the mean"),
                                GR_INIT_NUMBER("std", second, "1", "the standard deviation"),
                                GR_INIT_STREAM,
                                {0}};
static const gr_case cases[] = {{{0}, .attr = &(gr_init){{2, {4, 6}}, 0, 0.02, 1, 7}}, {{0}}};

const gr_op gr_op_init_normal = {
    GR_INIT_FIELDS(init_normal),
    .doc = "Values drawn from a normal distribution, the same on any number of ranks.",
};
