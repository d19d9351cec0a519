// conv_grad_x.c - the gradient of a convolution with respect to x.
#include <string.h>
#include "ops/kernels/onednn.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"
#include "ops/nn/conv.h"

static const struct gr_conv_attr *attr_of(const void *a) { return a; }

static void letters(const gr_op_call *s, char buf[128]) {
  gr_conv_grad_letters(s, GR_CONV_W, GR_CONV_NEW_X, buf);
}

static gr_status infer(gr_op_call *s) {
  const struct gr_conv_grad_attr *a = s->attr;
  int axes = s->in[1].rank - 2;
  gr_type *x = s->out;
  GR_TRY(gr_require_float(s, 1, "the gradient"));
  if (a->size.n != axes)
    return gr_fail(GR_ERR_TYPE, s->loc, "size has %lld numbers for %d axes", (long long)a->size.n,
                   axes);
  for (int i = 0; i < axes; i++) x->dim[1 + i] = a->size.items[i];
  if (a->groups > 1) x->dim[x->rank - 1] = s->in[0].dim[1] * a->groups;
  return gr_conv_check(s, axes, attr_of(a), x, &s->in[0], &s->in[1]);
}

// It is linear in w and in dy: what flows back is the convolution of dz, and its gradient of w.
static void grad(const gr_grad *g) {
  const struct gr_conv_grad_attr *a = g->attr;
  const gr_op *const forward[] = {&gr_op_conv1d, &gr_op_conv2d, &gr_op_conv3d};
  const gr_type *w = &gr_at(g->b->g, g->x[0])->type;
  struct gr_conv_grad_attr of_w = *a;
  of_w.size.n = w->rank - 2;
  for (int i = 0; i < w->rank - 2; i++) of_w.size.items[i] = w->dim[2 + i];
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_conv_grad_w, &of_w, g->dy[0], g->x[1]);
  if (g->want[1]) g->dx[1] = GR_EMIT(g->b, forward[w->rank - 3], attr_of(a), g->dy[0], g->x[0]);
}

static gr_conv_sizes sizes(const void *attr, const gr_type *in, const gr_type *out) {
  return gr_conv_sizes_of(attr, out, in, in + 1);
}

static double element(const gr_launch *l, const gr_conv_sizes *v, int64_t n, int64_t of,
                      int64_t c) {
  int64_t taps = gr_conv_taps(v), cg = gr_conv_c(v), og = gr_conv_out(v);
  int64_t position[GR_SPATIAL], k[GR_SPATIAL];
  double sum = 0;
  gr_unravel(of, v->w.in, position);
  for (int64_t tap = 0; tap < taps; tap++) {
    gr_unravel(tap, v->w.size, k);
    int64_t window = gr_window_reading(&v->w, position, k);
    for (int64_t i = 0; window >= 0 && i < og; i++) {
      int64_t o = c / cg * og + i;
      sum += IN(0, (o * cg + c % cg) * taps + tap) *
             IN(1, (n * gr_conv_windows(v) + window) * v->out + o);
    }
  }
  return sum;
}

static gr_status conv_grad_x_cpu(const gr_launch *l) {
  gr_conv_sizes v = sizes(l->attr, l->in_type, l->out_type);
  int64_t in = gr_conv_in(&v);
  for (int64_t i = 0; i < v.n * in * v.c; i++)
    OUT(0, i, element(l, &v, i / v.c / in, i / v.c % in, i % v.c));
  return GR_OK;
}

static gr_status run_f32(const gr_launch *l) {
  gr_conv_sizes v = sizes(l->attr, l->in_type, l->out_type);
  gr_conv_grad_x(l, &v, l->in[0], l->in[1], l->out[0]);
  return GR_OK;
}
static const gr_samples samples = {2, false};
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, samples, run_f32); }
static gr_kernel fast(const gr_op_call *s) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  v.n = gr_widened_samples(s->in + 1);
  gr_conv_library_open(&v, GR_ONEDNN_GRAD_X);
  return gr_by_width(s, run_f32, run_narrow);
}

static size_t scratch(const gr_op_call *s) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  v.n = gr_widened_samples(s->in + 1);
  return gr_widened_scratch(s, samples, gr_conv_scratch(&v, false));
}

static int64_t flops(const gr_op_call *s) { return gr_conv_flops(&s->in[0], &s->in[1]); }

static void efforts(const gr_op_call *s, gr_efforts *w) {
  gr_conv_sizes v = sizes(s->attr, s->in, s->out);
  gr_conv_count(&v, v.c, GR_EFFORT_CONV3, w);
}

// ---- ONNX -------------------------------------------------------------------------------------

static int64_t item(const gr_ints *list, int i) { return list->items[list->n == 1 ? 0 : i]; }

static void to_onnx(gr_onnx_call *c) {
  const struct gr_conv_grad_attr *a = c->call[0]->attr;
  const gr_type *w = &c->call[0]->in[0], *y = &c->call[0]->in[1];
  int64_t rest[GR_SPATIAL];
  int axes = w->rank - 2;
  for (int i = 0; i < axes; i++)
    rest[i] = a->size.items[i] - ((y->dim[1 + i] - 1) * item(&a->stride, i) - 2 * item(&a->pad, i) +
                                  item(&a->dilation, i) * (w->dim[2 + i] - 1) + 1);
  const char *x =
      GR_ONNX(c, "ConvTranspose", gr_onnx_channels_first(c, c->in[1], w->rank), c->in[0]);
  gr_onnx_window(c, "strides", axes, &a->stride);
  gr_onnx_window(c, "dilations", axes, &a->dilation);
  gr_onnx_pads(c, axes, &a->pad);
  gr_onnx_ints(c, "output_padding", axes, rest);
  gr_onnx_int(c, "group", a->groups);
  c->out[0] = gr_onnx_channels_last(c, x, w->rank);
}

// The sizes of the result, by choice.
static void sizes_read(gr_onnx_reading *r, int x, int w, int axes, const gr_read_windows *v,
                       int64_t (*out)[GR_READ_CHOICES]) {
  int64_t given[GR_MAX_RANK], more[GR_MAX_RANK] = {0};
  int n = gr_read_ints(r, "output_shape", GR_MAX_RANK, given, 0);
  gr_read_ints(r, "output_padding", GR_MAX_RANK, more, 0);
  for (int i = 0; i < axes; i++)
    if (more[i] < 0 || more[i] > INT32_MAX || v->stride[i] < 1 || v->stride[i] > INT32_MAX ||
        v->dilation[i] < 1 || v->dilation[i] > INT32_MAX || v->pad[i] < 0 || v->pad[i] > INT32_MAX)
      gr_read_refuse(r, "has strides, gaps or padding that no axis has");
  for (int i = 0; i < axes && !r->err; i++)
    for (int c = 0; c < GR_READ_CHOICES; c++)
      out[i][c] = (r->vars[x].type[c].dim[1 + i] - 1) * v->stride[i] - 2 * v->pad[i] + more[i] +
                  v->dilation[i] * (gr_read_type(r, w)->dim[2 + i] - 1) + 1;
  if (n) gr_read_refuse(r, "has an attribute 'output_shape', which is not read");
}

// A transposed convolution.
static void read(gr_onnx_reading *r) {
  gr_read_windows v;
  int64_t size[GR_SPATIAL][GR_READ_CHOICES], groups = gr_read_int(r, "group", 1);
  int x = gr_read_in_last(r, 0), w = gr_read_in(r, 1, true), b = gr_read_in(r, 2, false);
  int rank = r->err ? 0 : gr_read_type(r, x)->rank, axes = rank - 2;
  if (!r->err && (axes < 1 || axes > GR_SPATIAL || gr_read_type(r, w)->rank != rank))
    gr_read_refuse(r, "has %d axes of space", axes);
  if (strcmp(gr_read_text(r, "auto_pad", "NOTSET"), "NOTSET") != 0)
    gr_read_refuse(r, "has auto_pad=%s; only explicit pads are read",
                   gr_read_text(r, "auto_pad", ""));
  if (r->err || !gr_read_window(r, x, axes, &gr_read_type(r, w)->dim[2], &v)) return;
  for (int i = 0; i < axes; i++)
    if (v.pad[i] != v.after[i]) gr_read_refuse(r, "pads an axis by more on one side");
  sizes_read(r, x, w, axes, &v, size);
  const gr_read_setting s[] = {{"stride", gr_read_each(r, axes, v.stride)},
                               {"pad", gr_read_each(r, axes, v.pad)},
                               {"dilation", gr_read_each(r, axes, v.dilation)},
                               {"groups", gr_arena_printf(r->arena, "%lld", (long long)groups)},
                               {"size", .sizes = size, .n = axes, .list = true}};
  int y = gr_read_emit(r, &gr_op_conv_grad_x, 2, (const int[]){w, x}, 5, s);
  gr_read_out(r, 0, b ? GR_READ_TWO(r, &gr_op_bias_add, y, b) : y, true);
}

static const gr_attr attrs[] = {
    GR_CONV_ATTRS(struct gr_conv_grad_attr),
    GR_ATTR(struct gr_conv_grad_attr, size, GR_ATTR_INTS, NULL, "the spatial sizes of x"),
    {0}};
static const gr_case cases[] = {
    {{"f32[6,4,3]", "f32[6,5,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {1}}, {1, {0}}, {1, {1}}, 1, {1, {7}}}},
    {{"f32[6,4,3]", "f32[6,5,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {2}}, {1, {2}}, {1, {2}}, 1, {1, {9}}}},
    {{"f32[6,4,3,2]", "f32[2,3,4,6]"},
     .attr = &(struct gr_conv_grad_attr){{2, {2, 3}}, {2, {1, 2}}, {1, {1}}, 1, {2, {5, 8}}}},
    {{"f32[6,2,1,1]", "f32[2,3,4,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {1}}, {1, {0}}, {1, {1}}, 2, {2, {3, 4}}}},
    {{"f32[6,2,2,3,2]", "f32[2,2,3,2,6]"},
     .attr =
         &(struct gr_conv_grad_attr){{3, {2, 1, 2}}, {1, {1}}, {3, {1, 1, 2}}, 2, {3, {3, 3, 4}}}},
    {{"f32[6,4,3]", "f32[6,4,6]"},
     .attr = &(struct gr_conv_grad_attr){{1, {1}}, {1, {0}}, {1, {1}}, 1, {1, {7}}},
     .fails = "has 4 windows, not 5"},
    {{0}},
};

const gr_op gr_op_conv_grad_x = {
    .name = "conv_grad_x",
    .doc =
        "The gradient of conv1d, conv2d or conv3d with respect to x, from w and dy: as a layer, a "
        "transposed convolution of dy.",
    .efforts = efforts,
    .n_in = 2,
    .attr_size = sizeof(struct gr_conv_grad_attr),
    .attrs = attrs,
    .index_spec_of = letters,
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .cpu = conv_grad_x_cpu,
    .fast = fast,
    .scratch = scratch,
    .gpu = gr_conv_grad_x_gpu,
    .amp = GR_AMP_NARROW,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ConvTranspose", read}),
    .cases = cases,
};
