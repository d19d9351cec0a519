// sum.c - sum over given axes.
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/reduce.h"
#include "ops/ops.h"

gr_val gr_sum(gr_builder *b, gr_val x, int axis) {
  return GR_EMIT(b, &gr_op_sum, (&(gr_reduce_axes){.axes = {1, {axis}}}), x);
}

gr_val gr_row_sums(gr_builder *b, gr_val x) {
  const gr_type t = b->err ? (gr_type){.rank = 1} : gr_at(b->g, x)->type;
  return gr_broadcast(b, gr_sum(b, x, t.rank - 1), t.rank - 1, t.dim[t.rank - 1]);
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  gr_reduce_index_spec(s, false, buf);
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type;
  g->dx[0] = gr_reduce_broadcast_back(g->b, g->attr, g->dy[0], &x);
}

static double fold(double sum, double x) { return sum + x; }

static gr_status sum_cpu(const gr_launch *l) {
  gr_reduce(l, 0, fold, 1);
  return GR_OK;
}

static gr_status run_fast(const gr_launch *l) {
  gr_reduce_runs(l, &gr_sums, 1);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_reduce(g, g->call->attr, "sum", "v", 1);
  return GR_OK;
}

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  snprintf(buf, GR_ROW_TEXT, "%s", gr_reduces_rows(s) ? "s = sum(x0); s" : "");
}

static void to_onnx(gr_onnx_call *c) { gr_reduce_onnx(c, "ReduceSum"); }

// Of what x is above its maximum, which is added again: no exponential is infinite.
static void read_log_sum_exp(gr_onnx_reading *r) {
  int64_t axes[GR_MAX_RANK];
  bool none;
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int n = gr_read_axes(r, gr_read_type(r, x)->rank, axes, &none);
  if (none) gr_read_refuse(r, "is over no axis");
  const gr_read_setting s[] = {{"axes", gr_read_list(r, n, axes)}, {"keepdim", "true"}};
  int most = gr_read_emit(r, &gr_op_reduce_max, 1, &x, 2, s);
  int above = GR_READ_ONE(r, &gr_op_exp, GR_READ_TWO(r, &gr_op_sub, x, most));
  int y = GR_READ_ONE(r, &gr_op_log, gr_read_emit(r, &gr_op_sum, 1, &above, 2, s));
  y = GR_READ_TWO(r, &gr_op_add, y, most);
  gr_read_out(r, 0, gr_read_reduced(r, y, n, axes), false);
}

static const gr_attr attrs[] = GR_AXES_ATTRS;
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}},
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"f32[3,5,2,7]"}, .attr = &(gr_reduce_axes){{2, {1, 3}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 2}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 1}}, 1}},
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 1}}, 0}},
    {{"f32[300,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}},
    {{"f32[40,1100]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}},
    {{"f32[6,300]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"i32[4,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}, .fill = "i"},
    {{"f32[4,6]"},
     .attr = &(gr_reduce_axes){{1, {2}}, 0},
     .fails = "no axis 2 in a value of 2 axes"},
    {{0}},
};

const gr_op gr_op_sum = {
    .name = "sum",
    .doc = "The sum over the given axes.",
    .n_in = 1,
    .attr_size = sizeof(gr_reduce_axes),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = gr_reduce_infer,
    .grad = grad,
    .cpu = sum_cpu,
    .fast_f32 = run_fast,
    .fast_narrow = run_fast,
    .scratch = gr_sums_scratch,
    .gpu = gpu,
    .row_of = row_of,
    .amp = GR_AMP_WIDE,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX(
        {"ReduceSum", gr_read_reduce}, {"ReduceSumSquare", gr_read_reduce, &gr_op_square},
        {"ReduceL2", gr_read_reduce, &gr_op_square, &gr_op_sqrt},
        {"ReduceL1", gr_read_reduce, &gr_op_abs},
        {"ReduceLogSum", gr_read_reduce, NULL, &gr_op_log}, {"ReduceLogSumExp", read_log_sum_exp}),
    .cases = cases,
};
