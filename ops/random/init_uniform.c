// init_uniform.c - initial values drawn from a uniform distribution.
#include "ops/kernels/source.h"
#include "ops/ops.h"

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const gr_init *a = attr;
  gr_rng_uniforms(rng, first, n, out);
  for (int64_t i = 0; i < n; i++) out[i] = a->first + (a->second - a->first) * out[i];
}

static gr_status init_uniform_cpu(const gr_launch *l) { return gr_init_draw(l, draw); }

static const gr_attr attrs[] = {GR_INIT_SHAPE,
                                GR_INIT_NUMBER("low", first, "0", "lower bound, inclusive"),
                                GR_INIT_NUMBER("high", second, "1", "upper bound, exclusive"),
                                GR_INIT_STREAM,
                                {0}};
static const gr_case cases[] = {{{0}, .attr = &(gr_init){{2, {4, 6}}, -1, 1, 1, 7}},
                                {{0}, .attr = &(gr_init){{1, {0}}, -1, 1, 1, 7}, .fails = "empty"},
                                {{0}}};

const gr_op gr_op_init_uniform = {
    GR_INIT_FIELDS(init_uniform),
    .doc = "Values drawn uniformly from low to high, the same on any number of ranks.",
};
