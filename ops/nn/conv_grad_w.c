// conv_grad_w.c - the gradient of a convolution with respect to its kernel.
#include "ops/kernels/onednn.h"
#include "ops/kernels/widen.h"
#include "ops/nn/conv.h"

static const struct gr_conv_attr *attr_of(const void *a) { return a; }

static void letters(const gr_op_call *s, char buf[128]) {
  gr_conv_grad_letters(s, GR_CONV_X, GR_CONV_NEW_W, buf);
}

static gr_status infer(gr_op_call *s) {
  const struct gr_conv_grad_attr *a = s->attr;
  int axes = s->in[0].rank - 2;
  GR_TRY(gr_require_float(s, 1, "the gradient"));
  if (a->size.n != axes)
    return gr_fail(GR_ERR_TYPE, s->loc, "size has %lld numbers for %d axes", (long long)a->size.n,
                   axes);
  for (int i = 0; i < axes; i++) s->out[0].dim[2 + i] = a->size.items[i];
  if (a->groups > 1) s->out[0].dim[1] = s->in[0].dim[axes + 1] / a->groups;
  return gr_conv_check(s, axes, attr_of(a), &s->in[0], &s->out[0], &s->in[1]);
}

// It is linear in x and in dy: what flows back is the gradient of x with dz for w, and the
// convolution of x with dz.
static void grad(const gr_grad *g) {
  const gr_op *const forward[] = {&gr_op_conv1d, &gr_op_conv2d, &gr_op_conv3d};
  const gr_type *x = &gr_at(g->b->g, g->x[0])->type;
  struct gr_conv_grad_attr of_x = *(const struct gr_conv_grad_attr *)g->attr;
  of_x.size.n = x->rank - 2;
  for (int i = 0; i < x->rank - 2; i++) of_x.size.items[i] = x->dim[1 + i];
  int rank = x->rank;
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_conv_grad_x, &of_x, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = GR_EMIT(g->b, forward[rank - 3], attr_of(g->attr), g->x[0], g->dy[0]);
}

static gr_conv_sizes sizes(const void *attr, const gr_type *in, const gr_type *out) {
  return gr_conv_sizes_of(attr, in, out, in + 1);
}

static double element(const gr_launch *l, const gr_conv_sizes *v, int64_t o, int64_t c,
                      int64_t tap) {
  int64_t windows = gr_conv_windows(v), s[GR_SPATIAL], k[GR_SPATIAL];
  double sum = 0;
  gr_unravel(tap, v->w.size, k);
  for (int64_t r = 0; r < v->n * windows; r++) {
    gr_unravel(r % windows, v->w.out, s);
    int64_t input = gr_window_element(&v->w, s, k);
    if (input >= 0)
      sum += IN(0, (r / windows * gr_conv_in(v) + input) * v->c + c) * IN(1, r * v->out + o);
  }
  return sum;
}

static gr_status conv_grad_w_cpu(const gr_launch *l) {
  gr_conv_sizes v = sizes(l->attr, l->in_type, l->out_type);
  int64_t taps = gr_conv_taps(&v), cg = gr_conv_c(&v);
  for (int64_t i = 0; i < v.out * cg * taps; i++) {
    int64_t o = i / taps / cg, c = o / gr_conv_out(&v) * cg + i / taps % cg;
    OUT(0, i, element(l, &v, o, c, i % taps));
  }
  return GR_OK;
}

static gr_status run_f32(const gr_launch *l) {
  gr_conv_sizes v = sizes(l->attr, l->in_type, l->out_type);
  gr_conv_grad_w(l, &v, l->in[0], l->in[1], l->out[0]);
  return GR_OK;
}
static const gr_samples samples = {3, true};
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, samples, run_f32); }
static gr_kernel fast(const gr_op_call *s) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  v.n = gr_widened_samples(s->in);
  gr_conv_library_open(&v, GR_ONEDNN_GRAD_W);
  return gr_by_width(s, run_f32, run_narrow);
}

static size_t scratch(const gr_op_call *s) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  v.n = gr_widened_samples(s->in);
  return gr_widened_scratch(s, samples, gr_conv_scratch(&v, true));
}

static int64_t flops(const gr_op_call *s) { return gr_conv_flops(s->out, &s->in[1]); }

// oneDNN has a kernel for three axes where channels come last with AVX-512 only; without it this is
// a product of patches, so its rate says little of other kinds of work.
static void efforts(const gr_op_call *s, gr_efforts *w) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  gr_conv_count(&v, v.out, GR_EFFORT_CONV3_GRAD, w);
}

static const gr_attr attrs[] = {
    GR_CONV_ATTRS(struct gr_conv_grad_attr),
    GR_ATTR(struct gr_conv_grad_attr, size, GR_ATTR_INTS, NULL, "the taps of w along each axis"),
    {0}};
static const gr_case cases[] = {
    {{"f32[6,7,4]", "f32[6,5,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {1}}, {1, {0}}, {1, {1}}, 1, {1, {3}}}},
    {{"f32[6,9,4]", "f32[6,5,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {2}}, {1, {2}}, {1, {2}}, 1, {1, {3}}}},
    {{"f32[6,5,8,4]", "f32[6,3,4,6]"},
     .attr = &(struct gr_conv_grad_attr){{2, {2, 3}}, {2, {1, 2}}, {1, {1}}, 1, {2, {3, 2}}}},
    {{"f32[6,3,4,4]", "f32[6,3,4,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {1}}, {1, {0}}, {1, {1}}, 2, {2, {1, 1}}}},
    {{"f32[6,6,13,11]", "f32[6,4,8,11]"},
     .attr = &(struct gr_conv_grad_attr){{2, {1, 2}}, {2, {1, 2}}, {2, {2, 1}}, 11, {2, {3, 3}}}},
    {{"f32[4,3,3,4,4]", "f32[4,2,3,2,6]"},
     .attr =
         &(struct gr_conv_grad_attr){{3, {2, 1, 2}}, {1, {1}}, {3, {1, 1, 2}}, 2, {3, {2, 3, 2}}}},
    {{0}},
};

const gr_op gr_op_conv_grad_w = {
    .name = "conv_grad_w",
    .doc = "The gradient of conv1d, conv2d or conv3d with respect to w, from x and dy.",
    .efforts = efforts,
    .n_in = 2,
    .attr_size = sizeof(struct gr_conv_grad_attr),
    .attrs = attrs,
    .index_spec_of = letters,
    .infer = infer,
    .grad = grad,
    .flops = flops,
    .cpu = conv_grad_w_cpu,
    .fast = fast,
    .scratch = scratch,
    .gpu = gr_conv_grad_w_gpu,
    .cases = cases,
};
