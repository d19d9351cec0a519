// sum_squares.c - the sum of all squares, for norms over many values.
#include "ops/kernels/operands.h"
#include "ops/kernels/reduce.h"
#include "ops/ops.h"

enum { PIECE = 1 << 15 };

gr_val gr_sum_squares(gr_builder *b, gr_val x) { return GR_EMIT(b, &gr_op_sum_squares, NULL, x); }

static gr_status infer(gr_op_call *s) {
  if (!gr_dtypes[s->in[0].dtype].is_float)
    return gr_fail(GR_ERR_TYPE, s->loc, "takes floats, got %s", gr_dtypes[s->in[0].dtype].name);
  if (s->in[0].dtype != GR_F64) s->out[0].dtype = GR_F32;
  return GR_OK;
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type;
  gr_val d = gr_cast(g->b, g->dy[0], x.dtype);
  for (int i = 0; i < x.rank; i++) d = gr_broadcast(g->b, d, i, x.dim[i]);
  g->dx[0] = gr_scale(g->b, gr_mul(g->b, d, g->x[0]), 2);
}

static gr_status sum_squares_cpu(const gr_launch *l) {
  double sum = 0;
  for (int64_t i = 0, n = gr_type_count(l->in_type); i < n; i++) sum += IN(0, i) * IN(0, i);
  OUT(0, 0, sum);
  return GR_OK;
}

static void sum_pieces(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t n = gr_type_count(l->in_type);
  for (int64_t p = begin; p < end; p++) {
    const float *x = (const float *)l->in[0] + p * PIECE;
    int64_t i = 0, size = n - p * PIECE < PIECE ? n - p * PIECE : PIECE;
    double lane[32] = {0}, sum = 0;
    for (; i + 32 <= size; i += 32)
      for (int k = 0; k < 32; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    for (int k = 0; k < 32; k++) sum += lane[k];
    for (; i < size; i++) sum += (double)x[i] * (double)x[i];
    ((double *)l->scratch)[p] = sum;
  }
}

static gr_status run_fast(const gr_launch *l) {
  int64_t n = (gr_type_count(l->in_type) + PIECE - 1) / PIECE;
  gr_parallel(l, n, 1, sum_pieces, (void *)l);
  double sum = 0;
  for (int64_t p = 0; p < n; p++) sum += ((double *)l->scratch)[p];
  *(float *)l->out[0] = (float)sum;
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  return gr_is_f32(s) ? sizeof(double) * (size_t)((gr_type_count(&s->in[0]) + PIECE - 1) / PIECE)
                      : 0;
}

static gr_status gpu(gr_gpu_call *g) {
  gr_reduce_axes all = {.axes.n = g->call->in[0].rank};
  for (int d = 0; d < GR_MAX_RANK; d++) all.axes.items[d] = d;
  gr_gpu_reduce(g, &all, "sum", "v * v", 1);
  return GR_OK;
}

static const gr_case cases[] = {{{"f32[4,6]"}},
                                {{"f32[]"}},
                                {{"f32[2,3,5]"}},
                                {{"f32[33000]"}},
                                {{"i32[4]"}, .fails = "takes floats, got i32"},
                                {{0}}};

const gr_op gr_op_sum_squares = {
    .name = "sum_squares",
    .doc = "The sum of the squares of all elements of x, a scalar.",
    .index_spec = "...->",
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .grad = grad,
    .cpu = sum_squares_cpu,
    .fast_f32 = run_fast,
    .scratch = scratch,
    .gpu = gpu,
    .multi_tensor = true,
    .amp = GR_AMP_WIDE,
    .onnx = "ReduceSumSquare keepdims=0",
    .from_onnx = GR_FROM_ONNX({NULL, NULL}),  // as a sum of squares
    .cases = cases,
};
