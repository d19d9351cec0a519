// mean.c - mean over given axes. These axes cannot be sharded, because the mean of one rank's slice
// is not a partial sum of the global mean; sum and scale allow sharding them.
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/reduce.h"
#include "ops/ops.h"

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  gr_reduce_index_spec(s, true, buf);
}

static double mean_factor(const gr_type *x, const gr_type *y) {
  return (double)gr_type_count(y) / (double)gr_type_count(x);
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type, y = gr_at(g->b->g, g->y[0])->type;
  g->dx[0] =
      gr_scale(g->b, gr_reduce_broadcast_back(g->b, g->attr, g->dy[0], &x), mean_factor(&x, &y));
}

static double fold(double sum, double x) { return sum + x; }

static gr_status mean_cpu(const gr_launch *l) {
  gr_reduce(l, 0, fold, mean_factor(l->in_type, l->out_type));
  return GR_OK;
}

static gr_status run_fast(const gr_launch *l) {
  gr_reduce_runs(l, &gr_sums, mean_factor(l->in_type, l->out_type));
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  if (!gr_dtypes[s->in[0].dtype].is_float)
    return gr_fail(GR_ERR_TYPE, s->loc, "takes floats, got %s", gr_dtypes[s->in[0].dtype].name);
  return gr_reduce_infer(s);
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_reduce(g, g->call->attr, "sum", "v", mean_factor(&g->call->in[0], &g->call->out[0]));
  return GR_OK;
}

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  snprintf(buf, GR_ROW_TEXT, "%s", gr_reduces_rows(s) ? "s = sum(x0) / n; s" : "");
}

static void to_onnx(gr_onnx_call *c) { gr_reduce_onnx(c, "ReduceMean"); }

static const gr_attr attrs[] = GR_AXES_ATTRS;
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{1, {1}}, 0}},
    {{"f32[3,5,2,7]"}, .attr = &(gr_reduce_axes){{2, {1, 3}}, 0}},
    {{"f32[3,1,2,2,1,4]"}, .attr = &(gr_reduce_axes){{3, {0, 3, 5}}, 1}},
    {{"f32[2,4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 2}}, 1}},
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{2, {0, 1}}, 0}},
    {{"i32[4,6]"}, .attr = &(gr_reduce_axes){{1, {0}}, 0}, .fails = "takes floats, got i32"},
    {{"f32[4,6]"}, .attr = &(gr_reduce_axes){{1, {-1}}, 0}, .fails = "no axis -1"},
    {{0}},
};

const gr_op gr_op_mean = {
    .name = "mean",
    .doc = "The mean over the given axes.",
    .n_in = 1,
    .attr_size = sizeof(gr_reduce_axes),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = mean_cpu,
    .fast_f32 = run_fast,
    .fast_narrow = run_fast,
    .scratch = gr_sums_scratch,
    .gpu = gpu,
    .row_of = row_of,
    .amp = GR_AMP_WIDE,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ReduceMean", gr_read_reduce}),
    .cases = cases,
};
