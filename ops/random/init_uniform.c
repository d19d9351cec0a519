// init_uniform.c - initial values drawn from a uniform distribution.
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct init_uniform {
  gr_ints shape;
  double low;
  double high;
  int64_t seed;
  uint64_t stream;
};

static gr_status infer(gr_op_call *s) {
  return gr_source_shape(s, &((const struct init_uniform *)s->attr)->shape, GR_F32);
}

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const struct init_uniform *a = attr;
  gr_rng_uniforms(rng, first, n, out);
  for (int64_t i = 0; i < n; i++) out[i] = a->low + (a->high - a->low) * out[i];
}

static gr_status init_uniform_cpu(const gr_launch *l) {
  const struct init_uniform *a = l->attr;
  gr_rng rng = {.seed = (uint64_t)a->seed, .stream = a->stream};
  return gr_source_draw(l, &rng, draw);
}

static gr_status gpu(gr_gpu_call *g) {
  const struct init_uniform *a = g->call->attr;
  gr_rng rng = {.seed = (uint64_t)a->seed, .stream = a->stream};
  gr_source_gpu(g, &rng, "init_uniform", a->low, a->high);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct init_uniform, shape, GR_ATTR_INTS, NULL, "shape of the result"),
    GR_ATTR(struct init_uniform, low, GR_ATTR_FLOAT, "0", "lower bound, inclusive"),
    GR_ATTR(struct init_uniform, high, GR_ATTR_FLOAT, "1", "upper bound, exclusive"),
    GR_ATTR(struct init_uniform, seed, GR_ATTR_INT, "0", "seed of the run"),
    GR_ATTR(struct init_uniform, stream, GR_ATTR_STREAM, NULL, "name of the random stream"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct init_uniform){{2, {4, 6}}, -1, 1, 1, 7}},
    {{0}, .attr = &(struct init_uniform){{1, {0}}, -1, 1, 1, 7}, .fails = "empty"},
    {{0}}};

const gr_op gr_op_init_uniform = {
    .name = "init_uniform",
    .doc = "Values drawn uniformly from low to high, the same on any number of ranks.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct init_uniform),
    .attrs = attrs,
    .random = true,
    .infer = infer,
    .cpu = init_uniform_cpu,
    .gpu = gpu,
    .cases = cases,
};
