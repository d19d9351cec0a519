// adaptive_avg_pool.c - means over windows that are as large as a given number of them needs.
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"
#include "ops/nn/pool.h"

struct adaptive {
  gr_ints size;  // spatial sizes of the result: of y, or of x for the gradient
};

static gr_pool sizes(const gr_type *x, const gr_type *y) { return gr_pool_of(NULL, x, y); }

static void letters(const gr_op_call *s, char buf[128]) { gr_pool_letters(s, "x>_", buf); }

// Of a window's elements, or of an element's windows: twice the larger value is near enough.
static int64_t flops(const gr_op_call *s) {
  return 2 * gr_max_i64(gr_type_count(&s->in[0]), gr_type_count(&s->out[0]));
}

static gr_status infer(gr_op_call *s) {
  const struct adaptive *a = s->attr;
  int axes = s->in[0].rank - 2;
  GR_TRY(gr_pool_check(s));
  if (a->size.n != 1 && a->size.n != axes)
    return gr_fail(GR_ERR_TYPE, s->loc, "size of %s has %lld numbers for %d spatial ax%s",
                   s->op->name, (long long)a->size.n, axes, axes == 1 ? "is" : "es");
  for (int i = 0; i < axes; i++) {
    s->out[0].dim[1 + i] = a->size.items[a->size.n == axes ? i : 0];
    if (s->out[0].dim[1 + i] < 1 || s->out[0].dim[1 + i] > INT32_MAX)
      return gr_fail(GR_ERR_TYPE, s->loc, "size of %s is %lld; it is 1 or more, below 2^31",
                     s->op->name, (long long)s->out[0].dim[1 + i]);
  }
  return GR_OK;
}

// The mean of windows is linear: the gradient of each of both ops is the other one.
static void flow_back(const gr_grad *g, const gr_op *other) {
  const gr_type *x = &gr_at(g->b->g, g->x[0])->type;
  struct adaptive a = {{x->rank - 2, {0}}};
  for (int i = 0; i < x->rank - 2; i++) a.size.items[i] = x->dim[1 + i];
  g->dx[0] = gr_emit(g->b, other, &a, 1, g->dy);
}
static void grad(const gr_grad *g) { flow_back(g, &gr_op_adaptive_avg_pool_grad); }
static void second(const gr_grad *g) { flow_back(g, &gr_op_adaptive_avg_pool); }

static gr_status adaptive_avg_pool_cpu(const gr_launch *l) {
  gr_pool p = sizes(l->in_type, l->out_type);
  return gr_pool_mean_cpu(l, &p);
}
static gr_status grad_cpu(const gr_launch *l) {
  gr_pool p = sizes(l->out_type, l->in_type);
  return gr_pool_mean_grad_cpu(l, &p);
}

static gr_status run_f32(const gr_launch *l) {
  gr_pool p = sizes(l->in_type, l->out_type);
  gr_pool_mean(l, &p, l->in[0], l->out[0]);
  return GR_OK;
}
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, run_f32); }

static gr_status grad_f32(const gr_launch *l) {
  gr_pool p = sizes(l->out_type, l->in_type);
  gr_pool_mean_grad(l, &p, l->in[0], l->out[0]);
  return GR_OK;
}
static gr_status grad_narrow(const gr_launch *l) { return gr_run_widened(l, gr_each, grad_f32); }

static gr_status gpu(gr_gpu_call *g) {
  gr_pool p = sizes(&g->call->in[0], &g->call->out[0]);
  gr_pool_gpu(g, &p, "mean_pool", "MEAN");
  return GR_OK;
}
static gr_status grad_gpu(gr_gpu_call *g) {
  gr_pool p = sizes(&g->call->out[0], &g->call->in[0]);
  gr_pool_gpu(g, &p, "mean_pool_grad", "MEAN_GRAD");
  return GR_OK;
}

// The means along axis i, as a product with a matrix [windows, elements].
static const char *means(gr_onnx_call *c, const gr_pool *p, int i, const char *x) {
  int64_t in = p->w.in[i], out = p->w.out[i];
  gr_type t = {.dtype = GR_F32, .rank = 2, .dim = {out, in}};
  float *m = gr_arena_alloc(c->graph->arena, gr_type_bytes(&t));
  for (int64_t s = 0; s < out; s++) {
    gr_pool_range r = gr_pool_elements(p, i, s);
    for (int64_t k = r.begin; k < r.end; k++) m[s * in + k] = 1 / (float)(r.end - r.begin);
  }
  // "nabc,yb->nayc"
  int first = GR_SPATIAL - p->w.axes;
  char spatial[GR_SPATIAL + 1] = "abc", made[GR_SPATIAL + 1] = "abc", text[32];
  made[i] = 'y';
  snprintf(text, sizeof text, "n%sz,y%c->n%sz", spatial + first, spatial[i], made + first);
  const char *y = GR_ONNX(c, "Einsum", x, gr_onnx_array(c, &t, m));
  gr_onnx_text(c, "equation", text);
  return y;
}

// A mean over a whole axis is of any size.
static void to_onnx(gr_onnx_call *c) {
  const gr_op_call *call = c->call[0];
  gr_pool p = sizes(&call->in[0], &call->out[0]);
  const char *x = c->in[0];
  for (int d = 1; d < call->in[0].rank - 1 && !c->err; d++) {
    bool fixed = gr_onnx_is_fixed(c, gr_onnx_in_number, GR_ONNX_SIZE(0, d));
    if (call->out[0].dim[d] == 1)
      x = GR_ONNX(c, "ReduceMean", x, gr_onnx_vector(c, 1, &(int64_t){d}));
    else if (fixed)
      x = means(c, &p, GR_SPATIAL - p.w.axes + d - 1, x);
    else
      gr_onnx_refuse(c, "the windows differ in size with an axis whose size may change");
  }
  c->out[0] = x;
}

static void read_pool(gr_onnx_reading *r) {
  gr_read_out(r, 0, GR_READ_ONE(r, &gr_op_adaptive_avg_pool, gr_read_in_last(r, 0)), true);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct adaptive, size, GR_ATTR_INTS, "1",
            "windows along each axis: one number for all, or one for each"),
    {0}};
static const struct adaptive one = {{1, {1}}};
static const gr_case cases[] = {
    {{"f32[4,7,6]"}, .attr = &(struct adaptive){{1, {3}}}},
    {{"f32[2,5,6,4]"}, .attr = &one},
    {{"f32[2,5,6,4]"}, .attr = &(struct adaptive){{2, {2, 8}}}},
    {{"f32[2,3,4,5,4]"}, .attr = &one},
    {{"f32[2,5,6,4]"}, .attr = &(struct adaptive){{1, {0}}}, .fails = "1 or more"},
    {{"f32[2,3,4,5,4]"}, .attr = &(struct adaptive){{2, {2, 2}}}, .fails = "for 3 spatial axes"},
    {{0}},
};

const gr_op gr_op_adaptive_avg_pool = {
    .name = "adaptive_avg_pool",
    .doc =
        "The mean over windows that divide the spatial axes of x [n,t,c], [n,h,w,c] or "
        "[n,d,h,w,c] into `size` parts; of size 1: over whole axes.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 1,
    .attr_size = sizeof(struct adaptive),
    .attrs = attrs,
    .index_spec_of = letters,
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .linear = true,
    .cpu = adaptive_avg_pool_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .scratch = gr_each_scratch,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"GlobalAveragePool", read_pool}),
    .cases = cases,
};

static const gr_attr grad_attrs[] = {
    GR_ATTR(struct adaptive, size, GR_ATTR_INTS, NULL, "the spatial sizes of x"), {0}};
static const gr_case grad_cases[] = {
    {{"f32[4,3,6]"}, .attr = &(struct adaptive){{1, {7}}}},
    {{"f32[2,2,8,4]"}, .attr = &(struct adaptive){{2, {5, 6}}}},
    {{"f32[2,1,1,1,4]"}, .attr = &(struct adaptive){{3, {3, 4, 5}}}},
    {{0}},
};

const gr_op gr_op_adaptive_avg_pool_grad = {
    .name = "adaptive_avg_pool_grad",
    .doc = "The gradient of adaptive_avg_pool, from dy.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 1,
    .attr_size = sizeof(struct adaptive),
    .attrs = grad_attrs,
    .index_spec_of = letters,
    .infer = infer,
    .flops = flops,
    .grad = second,
    .linear = true,
    .cpu = grad_cpu,
    .fast_f32 = grad_f32,
    .fast_narrow = grad_narrow,
    .scratch = gr_each_scratch,
    .gpu = grad_gpu,
    .cases = grad_cases,
};
