// init_normal.c - initial values drawn from a normal distribution.
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct init_normal {
  gr_ints shape;
  double mean;
  double std;
  int64_t seed;
  uint64_t stream;
};

static gr_status infer(gr_op_call *s) {
  return gr_source_shape(s, &((const struct init_normal *)s->attr)->shape, GR_F32);
}

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const struct init_normal *a = attr;
  gr_rng_normals(rng, first, n, out);
  for (int64_t i = 0; i < n; i++) out[i] = a->mean + a->std * out[i];
}

static gr_status init_normal_cpu(const gr_launch *l) {
  const struct init_normal *a = l->attr;
  gr_rng rng = {.seed = (uint64_t)a->seed, .stream = a->stream};
  return gr_source_draw(l, &rng, draw);
}

static gr_status gpu(gr_gpu_call *g) {
  const struct init_normal *a = g->call->attr;
  gr_rng rng = {.seed = (uint64_t)a->seed, .stream = a->stream};
  gr_source_gpu(g, &rng, "init_normal", a->mean, a->std);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct init_normal, shape, GR_ATTR_INTS, NULL, "shape of the result"),
    GR_ATTR(struct init_normal, mean, GR_ATTR_FLOAT, "0", "the mean"),
    GR_ATTR(struct init_normal, std, GR_ATTR_FLOAT, "1", "the standard deviation"),
    GR_ATTR(struct init_normal, seed, GR_ATTR_INT, "0", "seed of the run"),
    GR_ATTR(struct init_normal, stream, GR_ATTR_STREAM, NULL, "name of the random stream"),
    {0}};
static const gr_case cases[] = {{{0}, .attr = &(struct init_normal){{2, {4, 6}}, 0, 0.02, 1, 7}},
                                {{0}}};

const gr_op gr_op_init_normal = {
    .name = "init_normal",
    .doc = "Values drawn from a normal distribution, the same on any number of ranks.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct init_normal),
    .attrs = attrs,
    .random = true,
    .infer = infer,
    .cpu = init_normal_cpu,
    .gpu = gpu,
    .cases = cases,
};
