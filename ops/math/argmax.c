// argmax.c - the index of the largest element of the last axis.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_require_float(s, 0, "the operand"));
  s->out[0].dtype = GR_I32;
  return GR_OK;
}

static gr_status argmax_cpu(const gr_launch *l) {
  int64_t n = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
      if (IN(0, r * n + i) > IN(0, r * n + best)) best = i;
    ((int32_t *)l->out[0])[r] = (int32_t)best;
  }
  return GR_OK;
}

static void rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t n = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    ((int32_t *)l->out[0])[r] = (int32_t)gr_first_top_f32((const float *)l->in[0] + r * n, n);
  }
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_rows(l->in_type), 1 + 8192 / gr_last(l->in_type), rows_f32, (void *)l);
  return GR_OK;
}

static gr_status run_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_samples_of_rows(l->in_type), run_f32);
}

static size_t scratch(const gr_op_call *s) {
  return gr_widened_scratch(s, gr_samples_of_rows(s->in), 0);
}

GR_CU(argmax);

static gr_status gpu(gr_gpu_call *g) {
  int64_t rows = gr_rows(g->call->in), n = gr_last(g->call->in);
  gr_gpu_kernel *k = gr_gpu_rows(g, gr_cu_argmax, "argmax", g->call->in[0].dtype, rows, n, 1024);
  gr_gpu_int(k, rows), gr_gpu_int(k, n);
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const char *i = GR_ONNX(c, "ArgMax", c->in[0]);
  gr_onnx_int(c, "axis", -1);
  gr_onnx_int(c, "keepdims", 0);
  c->out[0] = gr_onnx_cast(c, i, gr_onnx_dtype(GR_I32));
}

// Along another axis than the last one, which is moved there.
static int along(gr_onnx_reading *r, int x, int axis) {
  int64_t perm[GR_MAX_RANK];
  int rank = gr_read_type(r, x)->rank;
  for (int d = 0; d < rank; d++) perm[d] = d < axis ? d : d == rank - 1 ? axis : d + 1;
  return GR_READ_ONE(r, &gr_op_argmax, gr_read_transpose(r, x, perm));
}

static void read(gr_onnx_reading *r) {
  const gr_op *before = r->reader->before;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank, axis = gr_read_axis(r, gr_read_int(r, "axis", 0), rank);
  bool keep = gr_read_int(r, "keepdims", 1);
  gr_read_only(r, "select_last_index", 0);
  if (r->err) return;
  gr_read_dims(r, x, 0, rank, sizes), gr_read_same(sizes[axis], 1);
  int y = along(r, before ? GR_READ_ONE(r, before, x) : x, axis);
  if (keep) y = gr_read_reshape(r, y, rank, sizes);
  gr_read_out(r, 0, y, false);
}

static const gr_case cases[] = {
    {{"f32[4,6]"}},
    {{"f32[2,3,37]"}},
    {{"f32[12]"}},
    {{"f32[4,6]"}, .fill = "m"},  // equal elements
    {{"i32[4,6]"}, .fails = "must be a float"},
    {{0}},
};

const gr_op gr_op_argmax = {
    .name = "argmax",
    .doc = "The index of the largest element of the last axis, the first if several are equal.",
    .effort = GR_EFFORT_ROW,
    .index_spec = "...V->...",
    .infer = infer,
    .cpu = argmax_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ArgMax", read}, {"ArgMin", read, &gr_op_neg}),
    .cases = cases,
};
