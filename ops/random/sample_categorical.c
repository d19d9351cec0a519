// sample_categorical.c - random classes with the probabilities softmax(logits): the first class at
// which the running sum of exp(logits - max) exceeds a uniform number times the whole sum.
#include <math.h>
#include "ops/kernels/operands.h"
#include "ops/kernels/sample.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_sample_infer(s));
  s->out[0].dtype = GR_I32;
  return GR_OK;
}

// NaN, and a row of -infinity, give class 0.
static int32_t pick(const gr_launch *l, int64_t row, int64_t n, double u) {
  double top = -INFINITY, sum = 0, so_far = 0;
  for (int64_t i = 0; i < n; i++) top = fmax(top, IN(0, row * n + i));
  for (int64_t i = 0; i < n; i++) sum += exp(IN(0, row * n + i) - top);
  int32_t last = 0;
  for (int64_t i = 0; i < n; i++) {
    double p = exp(IN(0, row * n + i) - top);
    so_far += p;
    if (p > 0) last = (int32_t)i;  // rounding may keep the sum below u, but p = 0 is never drawn
    if (so_far > u * sum) return (int32_t)i;
  }
  return last;
}

static gr_status sample_categorical_cpu(const gr_launch *l) {
  gr_rng rng = gr_sample_rng(l);
  int64_t n = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_type_count(l->out_type); r < rows; r++)
    ((int32_t *)l->out[0])[r] =
        pick(l, r, n, gr_rng_uniform(&rng, (uint64_t)gr_global_index(l, 0, r)));
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_int(gr_sample_gpu(g, "sample_categorical", gr_type_count(g->call->out)),
             gr_last(g->call->in));
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[40,6]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fill = "ni"},
    {{"f32[6,7,31]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fill = "ni"},
    {{"i32[4,6]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fails = "must be a float"},
    {{0}},
};

const gr_op gr_op_sample_categorical = {
    .name = "sample_categorical",
    .doc =
        "A random class for each row of logits, with the probabilities softmax(logits): other ones "
        "in "
        "each step. In a loop use sample_uniform before it.",
    .attr_size = sizeof(gr_sample),
    .attrs = gr_sample_attrs,
    .index_spec = "...V,->...",
    .infer = infer,
    .random = true,
    .cpu = sample_categorical_cpu,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};
