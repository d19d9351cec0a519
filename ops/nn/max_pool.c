// max_pool.c - maximum over windows. The gradient compares the elements of a window with its
// maximum instead of keeping indices: the first that equals it, in row-major order, is the one, as
// in PyTorch. x and y are kept for that, which are kept for other gradients in most models.
#include <math.h>
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"
#include "ops/nn/pool.h"

static void letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "x>_", buf); }
static void grad_letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "xyy>x", buf); }

static int64_t flops(const gr_op_call *s) {
  gr_pool p = gr_pool_of(s->attr, &s->in[0], s->n_in == 1 ? &s->out[0] : &s->in[1]);
  return p.n * p.c * gr_product(p.w.out) * gr_product(p.w.size);
}

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_max_pool_grad, g->attr, g->x[0], g->y[0], g->dy[0]);
}

static gr_status max_pool_cpu(const gr_launch *l) {
  gr_pool p = gr_pool_of(l->attr, l->in_type, l->out_type);
  int64_t windows = gr_product(p.w.out);
  for (int64_t i = 0; i < p.n * windows * p.c; i++) {
    double most = -INFINITY;
    gr_pool_walk w = gr_pool_walk_of(&p, i / p.c);
    for (int64_t element; (element = gr_pool_next(&w)) >= 0;) {
      double x = IN(0, element * p.c + i % p.c);
      most = x > most || isnan(x) ? x : most;
    }
    OUT(0, i, most);
  }
  return GR_OK;
}

// The first element of window r that equals its maximum; -1: none does.
static int64_t giver(const gr_launch *l, const gr_pool *p, int64_t r, int64_t channel) {
  double most = IN(1, r * p->c + channel);
  gr_pool_walk w = gr_pool_walk_of(p, r);
  for (int64_t element; (element = gr_pool_next(&w)) >= 0;) {
    double x = IN(0, element * p->c + channel);
    if (x == most || (isnan(x) && isnan(most))) return element;
  }
  return -1;
}

static gr_status grad_cpu(const gr_launch *l) {
  gr_pool p = gr_pool_of(l->attr, l->in_type, l->in_type + 1);
  for (int64_t i = 0; i < p.n * gr_product(p.w.in) * p.c; i++) {
    double sum = 0;
    gr_pool_walk w = gr_pool_readers_of(&p, i / p.c);
    for (int64_t r; (r = gr_pool_next(&w)) >= 0;)
      if (giver(l, &p, r, i % p.c) == i / p.c) sum += IN(2, r * p.c + i % p.c);
    OUT(0, i, sum);
  }
  return GR_OK;
}

static gr_status run_f32(const gr_launch *l) {
  gr_pool p = gr_pool_of(l->attr, l->in_type, l->out_type);
  gr_pool_max(l, &p, l->in[0], l->out[0]);
  return GR_OK;
}
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, run_f32); }

static gr_status grad_f32(const gr_launch *l) {
  gr_pool p = gr_pool_of(l->attr, l->in_type, l->in_type + 1);
  gr_pool_max_grad(l, &p, l->in[0], l->in[1], l->in[2], l->out[0]);
  return GR_OK;
}
static gr_status grad_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, grad_f32); }

static gr_status gpu(gr_gpu_call *g) {
  gr_pool p = gr_pool_of(g->call->attr, &g->call->in[0], &g->call->out[0]);
  gr_pool_gpu(g, &p, "max_pool", "MAX");
  return GR_OK;
}
static gr_status grad_gpu(gr_gpu_call *g) {
  gr_pool p = gr_pool_of(g->call->attr, &g->call->in[0], &g->call->in[1]);
  gr_pool_gpu(g, &p, "max_pool_grad", "MAX_GRAD");
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  gr_pool_onnx(c, "MaxPool");
  gr_pool_onnx_end(c);
}

static void read_max_pool(gr_onnx_reading *r) {
  if (gr_read_needs(r, 1)) gr_read_refuse(r, "gives indices");
  gr_read_pool(r, &gr_op_max_pool, NULL);
}

static const gr_attr attrs[] = {GR_POOL_ATTRS(gr_pool_attr), {0}};
static const gr_pool_attr two = {{1, {2}}, {0}, {1, {0}}};
static const gr_pool_attr over = {{2, {3, 2}}, {2, {2, 1}}, {2, {1, 0}}};
static const gr_pool_attr box = {{3, {1, 2, 3}}, {3, {1, 2, 2}}, {3, {0, 0, 1}}};
static const gr_case cases[] = {
    {{"f32[4,7,6]"}, .attr = &two},
    {{"f32[2,5,6,4]"}, .attr = &over},
    {{"f32[2,3,4,5,4]"}, .attr = &box},
    {{"f32[2,4,4,70]"}, .attr = &two},
    {{"f32[4,1,6]"}, .attr = &two, .fails = "too few for a window of 2"},
    {{"f32[4,7,6]"},
     .attr = &(gr_pool_attr){{1, {2}}, {0}, {1, {2}}},
     .fails = "more than half of its kernel"},
    {{"i32[4,7,6]"}, .attr = &two, .fails = "i32"},
    {{0}},
};

const gr_op gr_op_max_pool = {
    .name = "max_pool",
    .doc = "The maximum over windows of the spatial axes of x [n,t,c], [n,h,w,c] or [n,d,h,w,c].",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 1,
    .attr_size = sizeof(gr_pool_attr),
    .attrs = attrs,
    .index_spec_of = letters,
    .infer = gr_pool_infer,
    .flops = flops,
    .grad = grad,
    .cpu = max_pool_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .scratch = gr_each_scratch,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"MaxPool", read_max_pool}),
    .cases = cases,
};

static gr_status grad_infer(gr_op_call *s) {
  gr_type y = s->in[1];
  for (int k = 0; k < 3; k++) GR_TRY(gr_require_float(s, k, "the operand"));
  GR_TRY(gr_pool_infer_sizes(s, &s->in[0], &y));
  if (gr_type_same(&y, &s->in[1])) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "%s: y does not have the sizes of the result", s->op->name);
}

static const gr_case grad_cases[] = {
    {{"f32[4,7,6]", "f32[4,3,6]", "f32[4,3,6]"}, .attr = &two},
    {{"f32[4,7,6]", "f32[4,3,6]", "f32[4,3,6]"}, .attr = &two, .fill = "mmn"},
    {{"f32[2,5,6,4]", "f32[2,3,5,4]", "f32[2,3,5,4]"}, .attr = &over, .fill = "mmn"},
    {{"f32[4,7,6]", "f32[4,4,6]", "f32[4,4,6]"}, .attr = &two, .fails = "sizes of the result"},
    {{0}},
};

static void second(const gr_grad *g) {
  if (g->want[2])
    g->dx[2] = GR_EMIT(g->b, &gr_op_max_pool_pick, g->attr, g->x[0], g->x[1], g->dy[0]);
}

const gr_op gr_op_max_pool_grad = {
    .name = "max_pool_grad",
    .doc = "The gradient of max_pool, from x, y and dy.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 3,
    .attr_size = sizeof(gr_pool_attr),
    .attrs = attrs,
    .index_spec_of = grad_letters,
    .infer = grad_infer,
    .flops = flops,
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_f32,
    .fast_narrow = grad_narrow,
    .scratch = gr_each_scratch,
    .gpu = grad_gpu,
    .cases = grad_cases,
};

// ---- The gradient of the gradient: of each window, what v is at the element that is its maximum
// --

static void pick_letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "xyx>y", buf); }

static gr_status pick_infer(gr_op_call *s) {
  s->out[0] = s->in[1];
  return grad_infer(s);
}

static void pick_grad(const gr_grad *g) {
  if (g->want[2])
    g->dx[2] = GR_EMIT(g->b, &gr_op_max_pool_grad, g->attr, g->x[0], g->x[1], g->dy[0]);
}

static gr_status pick_cpu(const gr_launch *l) {
  gr_pool p = gr_pool_of(l->attr, l->in_type, l->in_type + 1);
  for (int64_t i = 0; i < p.n * gr_product(p.w.out) * p.c; i++) {
    int64_t element = giver(l, &p, i / p.c, i % p.c);
    OUT(0, i, element < 0 ? 0 : IN(2, element * p.c + i % p.c));
  }
  return GR_OK;
}

static gr_status pick_gpu(gr_gpu_call *g) {
  gr_pool p = gr_pool_of(g->call->attr, &g->call->in[0], &g->call->in[1]);
  gr_pool_gpu(g, &p, "max_pool_pick", "MAX_PICK");
  return GR_OK;
}

static const gr_case pick_cases[] = {
    {{"f32[4,7,6]", "f32[4,3,6]", "f32[4,7,6]"}, .attr = &two, .fill = "mmn"},
    {{"f32[2,5,6,4]", "f32[2,3,5,4]", "f32[2,5,6,4]"}, .attr = &over, .fill = "mmn"},
    {{"f32[2,3,4,5,4]", "f32[2,3,2,3,4]", "f32[2,3,4,5,4]"}, .attr = &box, .fill = "mmn"},
    {{"f32[4,7,6]", "f32[4,4,6]", "f32[4,7,6]"}, .attr = &two, .fails = "sizes of the result"},
    {{0}},
};

const gr_op gr_op_max_pool_pick = {
    .name = "max_pool_pick",
    .doc = "Of each window of max_pool, v where x is the maximum, from x, y and v.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 3,
    .attr_size = sizeof(gr_pool_attr),
    .attrs = attrs,
    .index_spec_of = pick_letters,
    .infer = pick_infer,
    .flops = flops,
    .grad = pick_grad,
    .cpu = pick_cpu,
    .gpu = pick_gpu,
    .cases = pick_cases,
};
