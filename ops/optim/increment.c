// increment.c - the counter of steps; a step that is skipped does not count.
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) {
  if (s->in[0].dtype != GR_I32)
    return gr_fail(GR_ERR_TYPE, s->loc, "the step must be i32, not %s",
                   gr_dtypes[s->in[0].dtype].name);
  return GR_OK;
}

static gr_status cpu(const gr_launch *l) {
  OUT(0, 0, IN(0, 0) + (IN(1, 0) > 0 ? 1 : 0));
  return GR_OK;
}

GR_CU(increment);

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_kernel_add(g, gr_cu_increment, "increment", 1, 32);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"i32[]", "f32[]"}, .fill = "i1"},
    {{"i32[]", "f32[]"}, .fill = "iz"},
    {{"f32[]", "f32[]"}, .fails = "must be i32"},
    {{0}},
};

const gr_op gr_op_increment = {
    .name = "increment",
    .doc = "step + 1 if ok, else step.",
    .n_in = 2,
    .n_out = 1,
    .index_spec = ",->",
    .infer = infer,
    .cpu = cpu,
    .gpu = gpu,
    .inplace = {1},
    .cases = cases,
};
