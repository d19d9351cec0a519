// bias_add.c - adds a vector to every row. Unlike broadcast and add, no attribute holds a size, so
// that the rows may be sharded, also in a scan's body.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/pointwise.h"
#include "ops/kernels/reduce.h"
#include "ops/ops.h"

GR_CU(bias_add);

gr_val gr_bias_add(gr_builder *b, gr_val x, gr_val v) {
  return GR_EMIT(b, &gr_op_bias_add, NULL, x, v);
}

static void grad(const gr_grad *g) {
  g->dx[0] = g->dy[0];
  if (g->want[1]) g->dx[1] = GR_EMIT(g->b, &gr_op_bias_add_grad, NULL, g->dy[0]);
}

static gr_status bias_add_cpu(const gr_launch *l) {
  int64_t c = gr_type_count(&l->in_type[1]);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, IN(0, i) + IN(1, i % c));
  return GR_OK;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t c = gr_type_count(&l->in_type[1]);
  const float *v = l->in[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)l->in[0] + i * c;
    float *y = (float *)l->out[0] + i * c;
    GR_VECTOR for (int64_t j = 0; j < c; j++) y[j] = x[j] + v[j];
  }
}

static void rows_narrow(void *arg, int64_t begin, int64_t end) {
  enum { TILE = 512 };
  const gr_launch *l = arg;
  gr_dtype d = l->out_type->dtype;
  int64_t c = gr_type_count(&l->in_type[1]);
  float x[TILE], v[TILE];
  for (int64_t i = 0; i < c; i += TILE) {
    int64_t n = c - i < TILE ? c - i : TILE;
    gr_widen(d, (const uint16_t *)l->in[1] + i, v, n);
    for (int64_t offset = begin * c + i; offset < end * c; offset += c) {
      gr_widen(d, (const uint16_t *)l->in[0] + offset, x, n);
      for (int64_t j = 0; j < n; j++) x[j] += v[j];
      gr_narrow(d, x, (uint16_t *)l->out[0] + offset, n);
    }
  }
}

static gr_status run_fast(const gr_launch *l) {
  int64_t c = gr_type_count(&l->in_type[1]);
  gr_parallel(l, gr_type_count(l->out_type) / c, 1 + 4096 / c,
              gr_is_narrow(l->out_type->dtype) ? rows_narrow : rows, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) { return gr_pointwise_fast(s) ? run_fast : NULL; }

// In a fused node the vector is repeated beside the rows.
static void tile(const float *const *x, float *y, int64_t n, const void *attr) {
  (void)attr;
  GR_VECTOR for (int64_t i = 0; i < n; i++) y[i] = x[0][i] + x[1][i];
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_bias_add, "bias_add");
  gr_gpu_define(g, k, "COMBINE(x, v)", "x + v");
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

const gr_op gr_op_bias_add = {
    .name = "bias_add",
    .doc = "x + v, for each row of x.",
    .index_spec = "...c,c->...c",
    .linear = true,
    .inplace = {1},
    .infer = gr_pointwise_infer,
    .grad = grad,
    .cpu = bias_add_cpu,
    .fast = fast,
    .tile_formula = "x0 + x1",
    .tile = tile,
    .gpu = gpu,
    .onnx = "Add",
    .from_onnx = GR_FROM_ONNX({NULL, NULL}),
    .cases = cases,
};

static gr_status grad_cpu(const gr_launch *l) {
  int64_t c = gr_type_count(l->out_type), n = gr_type_count(l->in_type) / c;
  for (int64_t j = 0; j < c; j++) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += IN(0, i * c + j);
    OUT(0, j, s);
  }
  return GR_OK;
}

static gr_block block(const gr_type *x) {
  int64_t c = x->dim[x->rank - 1];
  return (gr_block){1, gr_type_count(x) / c, c};
}

static gr_status grad_run_fast(const gr_launch *l) {
  gr_sum_block(l, block(l->in_type), l->in[0], l->out[0], 1);
  return GR_OK;
}

static gr_status grad_run_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_together, grad_run_fast);
}

static size_t grad_scratch(const gr_op_call *s) {
  return gr_is_up_to_f32(s) ? gr_widened_scratch(s, gr_together, gr_sum_scratch(block(&s->in[0])))
                            : 0;
}

static gr_status grad_gpu(gr_gpu_call *g) {
  gr_reduce_axes rows = {.axes.n = g->call->in[0].rank - 1};
  for (int d = 0; d < GR_MAX_RANK; d++) rows.axes.items[d] = d;
  gr_gpu_reduce(g, &rows, "sum", "v", 1);
  return GR_OK;
}

static const gr_case grad_cases[] = {
    {{"f32[4,6]"}}, {{"f32[2,4,6]"}}, {{"f32[700,1]"}}, {{"f32[130,70]"}}, {{0}}};

static void second(const gr_grad *g) {
  g->dx[0] = gr_broadcast_channels(g->b, g->dy[0], g->x[0]);
}

const gr_op gr_op_bias_add_grad = {
    .name = "bias_add_grad",
    .doc = "The sum over all rows: the gradient of bias_add with respect to v.",
    .index_spec = "...c->c",
    .linear = true,
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_fast,
    .fast_narrow = grad_run_narrow,
    .scratch = grad_scratch,
    .gpu = grad_gpu,
    .cases = grad_cases,
};
