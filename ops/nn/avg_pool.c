// avg_pool.c - mean over windows.
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"
#include "ops/nn/pool.h"

struct avg_pool {  // begins as gr_pool_attr
  gr_ints kernel, stride, pad;
  int64_t count_include_pad;
};
struct avg_pool_grad {  // begins as avg_pool
  gr_ints kernel, stride, pad;
  int64_t count_include_pad;
  gr_ints size;
};

static gr_pool sizes(const struct avg_pool *a, const gr_type *x, const gr_type *y) {
  gr_pool p = gr_pool_of((const gr_pool_attr *)a, x, y);
  p.count_pad = a->count_include_pad;
  return p;
}

static void letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "x>_", buf); }
static void grad_letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "y>_", buf); }

static int64_t flops_of(const gr_op_call *s, const gr_type *x, const gr_type *y) {
  gr_pool p = sizes(s->attr, x, y);
  return gr_type_count(y) * gr_product(p.w.size);
}
static int64_t flops(const gr_op_call *s) { return flops_of(s, &s->in[0], &s->out[0]); }
static int64_t grad_flops(const gr_op_call *s) { return flops_of(s, &s->out[0], &s->in[0]); }

static void grad(const gr_grad *g) {
  const struct avg_pool *f = g->attr;
  const gr_type *x = &gr_at(g->b->g, g->x[0])->type;
  struct avg_pool_grad a = {f->kernel, f->stride, f->pad, f->count_include_pad, {x->rank - 2, {0}}};
  for (int i = 0; i < x->rank - 2; i++) a.size.items[i] = x->dim[1 + i];
  g->dx[0] = GR_EMIT(g->b, &gr_op_avg_pool_grad, &a, g->dy[0]);
}

static gr_status avg_pool_cpu(const gr_launch *l) {
  gr_pool p = sizes(l->attr, l->in_type, l->out_type);
  return gr_pool_mean_cpu(l, &p);
}
static gr_status grad_cpu(const gr_launch *l) {
  gr_pool p = sizes(l->attr, l->out_type, l->in_type);
  return gr_pool_mean_grad_cpu(l, &p);
}

static gr_status run_f32(const gr_launch *l) {
  gr_pool p = sizes(l->attr, l->in_type, l->out_type);
  gr_pool_mean(l, &p, l->in[0], l->out[0]);
  return GR_OK;
}
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, run_f32); }

static gr_status grad_f32(const gr_launch *l) {
  gr_pool p = sizes(l->attr, l->out_type, l->in_type);
  gr_pool_mean_grad(l, &p, l->in[0], l->out[0]);
  return GR_OK;
}
static gr_status grad_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, grad_f32); }

static gr_status gpu(gr_gpu_call *g) {
  gr_pool p = sizes(g->call->attr, &g->call->in[0], &g->call->out[0]);
  gr_pool_gpu(g, &p, "mean_pool", "MEAN");
  return GR_OK;
}
static gr_status grad_gpu(gr_gpu_call *g) {
  gr_pool p = sizes(g->call->attr, &g->call->out[0], &g->call->in[0]);
  gr_pool_gpu(g, &p, "mean_pool_grad", "MEAN_GRAD");
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const struct avg_pool *a = c->call[0]->attr;
  gr_pool_onnx(c, "AveragePool");
  gr_onnx_int(c, "count_include_pad", a->count_include_pad);
  gr_pool_onnx_end(c);
}

#define ATTRS(type)    \
  GR_POOL_ATTRS(type), \
      GR_ATTR(type, count_include_pad, GR_ATTR_BOOL, "true", "means are over padding, too")
static void read_avg_pool(gr_onnx_reading *r) {
  gr_read_pool(r, &gr_op_avg_pool, gr_read_int(r, "count_include_pad", 0) ? "true" : "false");
}

static const gr_attr attrs[] = {ATTRS(struct avg_pool), {0}};
static const struct avg_pool two = {{1, {2}}, {0}, {1, {0}}, 1};
static const struct avg_pool over = {{2, {3, 2}}, {2, {2, 1}}, {2, {1, 1}}, 1};
static const struct avg_pool inside = {{2, {3, 2}}, {2, {2, 1}}, {2, {1, 1}}, 0};
static const struct avg_pool box = {{3, {1, 2, 3}}, {3, {1, 2, 2}}, {3, {0, 0, 1}}, 0};
static const gr_case cases[] = {
    {{"f32[4,7,6]"}, .attr = &two},
    {{"f32[2,5,6,4]"}, .attr = &over},
    {{"f32[2,5,6,4]"}, .attr = &inside},
    {{"f32[2,3,4,5,4]"}, .attr = &box},
    {{"f32[4,6]"}, .attr = &two, .fails = "has 2 axes; expected 3"},
    {{"f32[4,7,6]"}, .attr = &over, .fails = "2 numbers for 1 spatial axis"},
    {{0}},
};

const gr_op gr_op_avg_pool = {
    .name = "avg_pool",
    .doc = "The mean over windows of the spatial axes of x [n,t,c], [n,h,w,c] or [n,d,h,w,c].",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 1,
    .attr_size = sizeof(struct avg_pool),
    .attrs = attrs,
    .index_spec_of = letters,
    .infer = gr_pool_infer,
    .flops = flops,
    .grad = grad,
    .linear = true,
    .cpu = avg_pool_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .scratch = gr_each_scratch,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"AveragePool", read_avg_pool}),
    .cases = cases,
};

static gr_status grad_infer(gr_op_call *s) {
  const struct avg_pool_grad *a = s->attr;
  int axes = s->in[0].rank - 2;
  gr_type y = s->in[0];
  GR_TRY(gr_pool_check(s));
  if (a->size.n != axes)
    return gr_fail(GR_ERR_TYPE, s->loc, "size has %lld numbers for %d axes", (long long)a->size.n,
                   axes);
  for (int i = 0; i < axes; i++) s->out[0].dim[1 + i] = a->size.items[i];
  GR_TRY(gr_pool_infer_sizes(s, &s->out[0], &y));
  if (gr_type_same(&y, &s->in[0])) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "%s: dy does not have the sizes of the result", s->op->name);
}

static const gr_attr grad_attrs[] = {
    ATTRS(struct avg_pool_grad),
    GR_ATTR(struct avg_pool_grad, size, GR_ATTR_INTS, NULL, "the spatial sizes of x"),
    {0}};
static const gr_case grad_cases[] = {
    {{"f32[4,3,6]"}, .attr = &(struct avg_pool_grad){{1, {2}}, {0}, {1, {0}}, 1, {1, {7}}}},
    {{"f32[2,3,7,4]"},
     .attr = &(struct avg_pool_grad){{2, {3, 2}}, {2, {2, 1}}, {2, {1, 1}}, 0, {2, {5, 6}}}},
    {{"f32[2,3,2,3,4]"},
     .attr = &(
         struct avg_pool_grad){{3, {1, 2, 3}}, {3, {1, 2, 2}}, {3, {0, 0, 1}}, 1, {3, {3, 4, 5}}}},
    {{"f32[4,4,6]"},
     .attr = &(struct avg_pool_grad){{1, {2}}, {0}, {1, {0}}, 1, {1, {7}}},
     .fails = "sizes of the result"},
    {{0}},
};

static void second(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_avg_pool, g->attr, g->dy[0]);
}

const gr_op gr_op_avg_pool_grad = {
    .name = "avg_pool_grad",
    .doc = "The gradient of avg_pool, from dy.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 1,
    .attr_size = sizeof(struct avg_pool_grad),
    .attrs = grad_attrs,
    .index_spec_of = grad_letters,
    .infer = grad_infer,
    .grad = second,
    .flops = grad_flops,
    .linear = true,
    .cpu = grad_cpu,
    .fast_f32 = grad_f32,
    .fast_narrow = grad_narrow,
    .scratch = gr_each_scratch,
    .gpu = grad_gpu,
    .cases = grad_cases,
};
