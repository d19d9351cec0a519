// sample.c - see sample.h.
#include "ops/kernels/sample.h"
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

const gr_attr gr_sample_attrs[] = {
    GR_ATTR(gr_sample, seed, GR_ATTR_INT, "0", "seed of the random numbers"),
    GR_ATTR(gr_sample, stream, GR_ATTR_STREAM, "sample", "name of the random stream"),
    {0}};

const gr_case gr_sample_cases[] = {
    {{"f32[4,6]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fill = "ni"},
    {{"f32[6,37,6]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fill = "ni"},
    {{"i32[4,6]", "i32[]"}, .attr = &(gr_sample){1, 2}, .fails = "must be a float"},
    {{0}},
};

gr_status gr_sample_infer(gr_op_call *s) {
  GR_TRY(gr_require_float(s, 0, "the operand"));
  return gr_require_ints(s, 1, "steps");
}

void gr_sample_read(gr_onnx_reading *r, double offset, double width) {
  gr_type type[GR_READ_CHOICES];
  int x = gr_read_cast(r, gr_read_in(r, 0, true), true);
  gr_read_only(r, "dtype", 1);
  gr_read_float(r, "seed", 0);
  if (r->err) return;
  memcpy(type, r->vars[x].type, sizeof type);
  int y = gr_read_block(r, r->op->name, NULL, x, type, 0, NULL, 0, NULL);
  r->lines[r->n_lines - 1].path = gr_read_free_path(r, gr_read_node_path(r, "sample"));
  if (width != 1) y = GR_READ(r, &gr_op_scale, y, {"by", gr_arena_printf(r->arena, "%.9g", width)});
  if (offset != 0)
    y = GR_READ(r, &gr_op_add_scalar, y, {"by", gr_arena_printf(r->arena, "%.9g", offset)});
  gr_read_out(r, 0, y, false);
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

gr_status gr_sample_each_gpu(gr_gpu_call *g) {
  gr_sample_gpu(g, g->call->op->name, gr_type_count(g->call->out));
  return GR_OK;
}
