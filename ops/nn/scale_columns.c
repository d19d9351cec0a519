// scale_columns.c - multiplies every row by a vector, as norms do by their weights. Like bias_add
// it has no attribute that holds a size, and the vector is never repeated in memory.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"
#include "ops/ops.h"

GR_CU(bias_add);

gr_val gr_scale_columns(gr_builder *b, gr_val x, gr_val v) {
  return GR_EMIT(b, &gr_op_scale_columns, NULL, x, v);
}

static void grad(const gr_grad *g) {
  if (g->want[0]) g->dx[0] = gr_scale_columns(g->b, g->dy[0], g->x[1]);
  if (g->want[1])
    g->dx[1] = GR_EMIT(g->b, &gr_op_bias_add_grad, NULL, gr_mul(g->b, g->dy[0], g->x[0]));
}

static gr_status scale_columns_cpu(const gr_launch *l) {
  int64_t c = gr_type_count(&l->in_type[1]);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, IN(0, i) * IN(1, i % c));
  return GR_OK;
}

// In a fused node the vector is repeated beside the rows.
static void tile(const float *const *x, float *y, int64_t n, const void *attr) {
  (void)attr;
  GR_VECTOR for (int64_t i = 0; i < n; i++) y[i] = x[0][i] * x[1][i];
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t c = gr_type_count(&l->in_type[1]);
  for (int64_t i = begin; i < end; i++)
    tile((const float *const[]){(const float *)l->in[0] + i * c, l->in[1]},
         (float *)l->out[0] + i * c, c, NULL);
}

static gr_status run_fast(const gr_launch *l) {
  int64_t c = gr_type_count(&l->in_type[1]);
  gr_parallel(l, gr_type_count(l->out_type) / c, 1 + 4096 / c, rows, (void *)l);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_bias_add, "bias_add");
  gr_gpu_define(g, k, "COMBINE(x, v)", "x * v");
  gr_gpu_int(k, gr_type_count(&g->call->in[1]));
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[6]"}},
    {{"f32[2,4,6]", "f32[6]"}},
    {{"f32[6]", "f32[6]"}},
    {{"f32[4,6]", "f32[5]"}, .fails = "sizes 6 and 5 differ"},
    {{"f32[4,6]", "bf16[6]"}, .fails = "operand 2 is bf16, but operand 1 is f32"},
    {{0}}};

const gr_op gr_op_scale_columns = {
    .name = "scale_columns",
    .doc = "x * v, for each row of x.",
    .index_spec = "...c,c->...c",
    .amp = GR_AMP_WIDE,
    .inplace = {1},
    .infer = gr_pointwise_infer,
    .grad = grad,
    .cpu = scale_columns_cpu,
    .fast_f32 = run_fast,
    .tile_formula = "x0 * x1",
    .tile = tile,
    .gpu = gpu,
    .onnx = "Mul",
    .from_onnx = GR_FROM_ONNX({NULL, NULL}),
    .cases = cases,
};
