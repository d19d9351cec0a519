// sample.c - see sample.h.
#include "ops/kernels/sample.h"
#include "ops/kernels/operands.h"

const gr_attr gr_sample_attrs[] = {
    GR_ATTR(gr_sample, seed, GR_ATTR_INT, "0", "seed of the random numbers"),
    GR_ATTR(gr_sample, stream, GR_ATTR_STREAM, "sample", "name of the random stream"),
    {0}};

gr_status gr_sample_infer(gr_op_call *s) {
  GR_TRY(gr_require_float(s, 0, "the operand"));
  return gr_require_ints(s, 1, "steps");
}

gr_rng gr_sample_rng(const gr_launch *l) {
  const gr_sample *a = l->attr;
  return (gr_rng){.seed = (uint64_t)a->seed,
                  .stream = a->stream,
                  .step = (uint64_t)(int64_t)gr_get(l->in[1], l->in_type[1].dtype, 0)};
}

GR_CU(sample);

gr_gpu_kernel *gr_sample_gpu(gr_gpu_call *g, const char *entry, int64_t n) {
  const gr_sample *a = g->call->attr;
  gr_rng rng = {.seed = (uint64_t)a->seed, .stream = a->stream};
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_sample, entry, gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, (int64_t)gr_rng_key(&rng));
  gr_gpu_global(g, k, 0);
  return k;
}
