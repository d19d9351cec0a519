// init_sinusoids.c - initial values that are sines and cosines of positions. Nothing is random: it
// is here because weights start from it.
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/source.h"
#include "ops/ops.h"

struct init_sinusoids {
  gr_ints shape;
  double base;
};

static gr_status infer(gr_op_call *s) {
  const gr_ints *shape = &((const struct init_sinusoids *)s->attr)->shape;
  if (shape->n != 2 || shape->items[1] < 4 || shape->items[1] % 2)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "sinusoids are a matrix [positions, channels], of an even number of channels "
                   "from 4 on");
  return gr_source_shape(s, shape, GR_F32);
}

// Sines of a position in the first half of a row, cosines in the second; channel k of half turns
// by base^(-k / (half - 1)) from a position to the next.
static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  const struct init_sinusoids *a = attr;
  int64_t width = a->shape.items[1], half = width / 2;
  (void)rng;
  for (int64_t i = 0; i < n; i++) {
    int64_t index = (int64_t)first + i, channel = index % width;
    double turn = pow(a->base, -(double)(channel % half) / (double)(half - 1));
    double angle = (double)(index / width) * turn;
    out[i] = channel < half ? sin(angle) : cos(angle);
  }
}

static gr_status init_sinusoids_cpu(const gr_launch *l) {
  const gr_rng none = {.seed = 0};
  return gr_source_draw(l, &none, draw);
}

GR_CU(init_sinusoids);

static gr_status gpu(gr_gpu_call *g) {
  const struct init_sinusoids *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_init_sinusoids, "init_sinusoids", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, a->shape.items[1]);
  gr_gpu_real(k, a->base);
  gr_gpu_global(g, k, 0);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct init_sinusoids, shape, GR_ATTR_INTS, NULL, "shape of the result"),
    GR_ATTR(struct init_sinusoids, base, GR_ATTR_FLOAT, "10000",
            "what the slowest angle is slower by than the fastest"),
    {0}};
static const gr_case cases[] = {
    {{0}, .attr = &(struct init_sinusoids){{2, {6, 8}}, 10000}},
    {{0}, .attr = &(struct init_sinusoids){{2, {12, 4}}, 100}},
    {{0}, .attr = &(struct init_sinusoids){{2, {6, 5}}, 100}, .fails = "an even number"},
    {{0}, .attr = &(struct init_sinusoids){{1, {6}}, 100}, .fails = "are a matrix"},
    {{0}}};

const gr_op gr_op_init_sinusoids = {
    .name = "init_sinusoids",
    .doc = "Sines and cosines of the number of each row, at angles from 1 to 1 / base per row.",
    .n_in = 0,
    .n_out = 1,
    .attr_size = sizeof(struct init_sinusoids),
    .attrs = attrs,
    .infer = infer,
    .cpu = init_sinusoids_cpu,
    .gpu = gpu,
    .cases = cases,
};
