// conv.c - see conv.h.
#include "ops/nn/conv.h"
#include "ops/kernels/onednn.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"

static gr_window_attr windows_attr(const struct gr_conv_attr *a) {
  return (gr_window_attr){.stride = &a->stride, .pad = &a->pad, .dilation = &a->dilation};
}

gr_conv_sizes gr_conv_sizes_of(const struct gr_conv_attr *a, const gr_type *x, const gr_type *w,
                               const gr_type *y) {
  gr_window_attr attr = windows_attr(a);
  int axes = x->rank - 2;
  gr_conv_sizes v = {.w = gr_windows_of(axes, &attr, x->dim + 1),
                     .n = x->dim[0],
                     .c = x->dim[x->rank - 1],
                     .out = w->dim[0],
                     .groups = a->groups};
  for (int i = 0; i < axes; i++) {
    v.w.size[GR_SPATIAL - axes + i] = w->dim[2 + i];
    v.w.out[GR_SPATIAL - axes + i] = y->dim[1 + i];
  }
  return v;
}

// Channels may be split over ranks unless groups tie those of x to those of y. With a bias those of
// x may not: every rank's partial sum would include the bias.
char *gr_conv_letters(char *to, gr_conv_role what, int axes, bool groups, bool bias) {
  static const char spatial[] = "THW", windows[] = "XYZ", taps[] = "KLM", fresh[] = "___";
  char c = groups || bias ? 'C' : 'c', o = groups ? 'O' : 'o', of_w = groups ? 'G' : c;
  bool is_w = what == GR_CONV_W || what == GR_CONV_NEW_W;
  const char *middle = what == GR_CONV_X    ? spatial
                       : what == GR_CONV_DY ? windows
                       : what == GR_CONV_W  ? taps
                                            : fresh;
  *to++ = is_w ? o : 'n';
  if (is_w) *to++ = what == GR_CONV_NEW_W && groups ? '_' : of_w;
  for (int i = 0; i < axes; i++) *to++ = middle[i];
  if (what == GR_CONV_X) *to++ = c;
  if (what == GR_CONV_NEW_X) *to++ = groups ? '_' : c;
  if (what == GR_CONV_DY || what == GR_CONV_NEW_Y) *to++ = o;
  *to = 0;
  return to;
}

void gr_conv_grad_letters(const gr_op_call *s, gr_conv_role first, gr_conv_role result,
                          char buf[128]) {
  bool groups = ((const struct gr_conv_attr *)s->attr)->groups != 1;
  int rank = s->in[first == GR_CONV_W].rank, axes = rank < 3 ? 1 : rank > 5 ? 3 : rank - 2;
  char *to = gr_conv_letters(buf, first, axes, groups, false);
  *to++ = ',';
  to = gr_conv_letters(to, GR_CONV_DY, axes, groups, false);
  *to++ = '-', *to++ = '>';
  gr_conv_letters(to, result, axes, groups, false);
}

static void letters(const gr_op_call *s, int axes, char *to) {
  bool groups = ((const struct gr_conv_attr *)s->attr)->groups != 1, bias = s->n_in == 3;
  to = gr_conv_letters(to, GR_CONV_X, axes, groups, bias);
  *to++ = ',';
  to = gr_conv_letters(to, GR_CONV_W, axes, groups, bias);
  if (bias) *to++ = ',', *to++ = groups ? 'O' : 'o';
  *to++ = '-', *to++ = '>';
  gr_conv_letters(to, GR_CONV_NEW_Y, axes, groups, bias);
}
void gr_conv1d_letters(const gr_op_call *s, char buf[128]) { letters(s, 1, buf); }
void gr_conv2d_letters(const gr_op_call *s, char buf[128]) { letters(s, 2, buf); }
void gr_conv3d_letters(const gr_op_call *s, char buf[128]) { letters(s, 3, buf); }

int64_t gr_conv_flops(const gr_type *w, const gr_type *y) {
  return 2 * gr_type_count(y) * gr_type_count(w) / w->dim[0];
}
int64_t gr_conv_op_flops(const gr_op_call *s) { return gr_conv_flops(&s->in[1], s->out); }

// What begins and stores a sum of few products takes as long as some more of them.
void gr_conv_count(const gr_conv_sizes *v, int64_t channels, gr_effort volume, gr_efforts *w) {
  enum { BLOCK = 16, AROUND = 16 };
  double patches = (double)(v->n * gr_conv_windows(v) * gr_conv_taps(v) * v->c);
  double flops = 2 * patches * (double)gr_conv_out(v);
  if (v->w.axes == 1 && v->groups == 1) {
    w->of[GR_EFFORT_MATMUL] = flops;
    w->of[GR_EFFORT_MOVE] = patches;
    w->of[GR_EFFORT_SERIAL] = patches / (double)(v->w.size[GR_SPATIAL - 1] * gr_conv_c(v));
  } else {
    double filled = (double)((channels + BLOCK - 1) / BLOCK * BLOCK) / (double)channels;
    double sum = (double)(gr_conv_taps(v) * gr_conv_c(v));
    w->of[v->w.axes == GR_SPATIAL ? volume : GR_EFFORT_CONV] =
        flops * filled * (sum + AROUND) / sum;
  }
}

void gr_conv_efforts(const gr_op_call *s, gr_efforts *w) {
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, &s->in[0], &s->in[1], &s->out[0]);
  gr_conv_count(&v, v.out, GR_EFFORT_CONV3, w);
}

static gr_status check_groups(const gr_op_call *s, const struct gr_conv_attr *a, const gr_type *x,
                              const gr_type *w) {
  int64_t c = x->dim[x->rank - 1], out = w->dim[0];
  if (a->groups < 1 || c % a->groups || out % a->groups)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "groups of %s is %lld, which does not divide %lld and %lld channels",
                   s->op->name, (long long)a->groups, (long long)c, (long long)out);
  if (w->dim[1] == c / a->groups) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc,
                 "%s: the kernel has %lld channels, but %lld channels in %lld groups are %lld each",
                 s->op->name, (long long)w->dim[1], (long long)c, (long long)a->groups,
                 (long long)(c / a->groups));
}

gr_status gr_conv_check(const gr_op_call *s, int axes, const struct gr_conv_attr *a,
                        const gr_type *x, const gr_type *w, const gr_type *y) {
  gr_window_attr attr = windows_attr(a);
  gr_type t = {0};
  GR_TRY(gr_windows_check(s, axes, &attr));
  GR_TRY(check_groups(s, a, x, w));
  gr_conv_sizes v = gr_conv_sizes_of(a, x, w, y);
  GR_TRY(gr_windows_infer(s, &v.w, &t));
  for (int i = 0; i < axes; i++)
    if (t.dim[1 + i] != y->dim[1 + i])
      return gr_fail(GR_ERR_TYPE, s->loc, "%s: axis %d of the gradient has %lld windows, not %lld",
                     s->op->name, 1 + i, (long long)y->dim[1 + i], (long long)t.dim[1 + i]);
  return GR_OK;
}

static gr_status infer(gr_op_call *s, int axes) {
  const struct gr_conv_attr *a = s->attr;
  gr_window_attr attr = windows_attr(a);
  for (int k = 1; k < s->n_in; k++)
    GR_TRY(gr_require_float(s, k, k == 1 ? "the kernel" : "the bias"));
  GR_TRY(gr_windows_check(s, axes, &attr));
  GR_TRY(check_groups(s, a, &s->in[0], &s->in[1]));
  gr_conv_sizes v = gr_conv_sizes_of(a, &s->in[0], &s->in[1], &s->out[0]);
  return gr_windows_infer(s, &v.w, &s->out[0]);
}
gr_status gr_conv1d_infer(gr_op_call *s) { return infer(s, 1); }
gr_status gr_conv2d_infer(gr_op_call *s) { return infer(s, 2); }
gr_status gr_conv3d_infer(gr_op_call *s) { return infer(s, 3); }

static gr_val emit_grad(const gr_grad *g, const gr_op *op, int of, gr_val other) {
  const struct gr_conv_attr *f = g->attr;
  const gr_type *t = &gr_at(g->b->g, g->x[of])->type;
  struct gr_conv_grad_attr a = {f->stride, f->pad, f->dilation, f->groups, {t->rank - 2, {0}}};
  for (int i = 0; i < t->rank - 2; i++) a.size.items[i] = t->dim[(of ? 2 : 1) + i];
  return GR_EMIT(g->b, op, &a, other, g->dy[0]);
}

void gr_conv_grad(const gr_grad *g) {
  if (g->want[0] && !g->b->err) g->dx[0] = emit_grad(g, &gr_op_conv_grad_x, 0, g->x[1]);
  if (g->want[1] && !g->b->err) g->dx[1] = emit_grad(g, &gr_op_conv_grad_w, 1, g->x[0]);
  if (g->n_in == 3 && g->want[2]) g->dx[2] = GR_EMIT(g->b, &gr_op_bias_add_grad, NULL, g->dy[0]);
}

static double element(const gr_launch *l, const gr_conv_sizes *v, int64_t n, int64_t window,
                      int64_t o) {
  int64_t taps = gr_conv_taps(v), cg = gr_conv_c(v), s[GR_SPATIAL], k[GR_SPATIAL];
  double sum = l->n_in == 3 ? IN(2, o) : 0;
  gr_unravel(window, v->w.out, s);
  for (int64_t tap = 0; tap < taps; tap++) {
    gr_unravel(tap, v->w.size, k);
    int64_t input = gr_window_element(&v->w, s, k), group = o / gr_conv_out(v);
    int64_t first = (n * gr_conv_in(v) + input) * v->c + group * cg;
    for (int64_t c = 0; input >= 0 && c < cg; c++)
      sum += IN(0, first + c) * IN(1, (o * cg + c) * taps + tap);
  }
  return sum;
}

gr_status gr_conv_cpu(const gr_launch *l) {
  gr_conv_sizes v = gr_conv_sizes_of(l->attr, l->in_type, l->in_type + 1, l->out_type);
  int64_t windows = gr_conv_windows(&v);
  for (int64_t i = 0; i < v.n * windows * v.out; i++)
    OUT(0, i, element(l, &v, i / v.out / windows, i / v.out % windows, i % v.out));
  return GR_OK;
}

static gr_status run_f32(const gr_launch *l) {
  gr_conv_sizes v = gr_conv_sizes_of(l->attr, l->in_type, l->in_type + 1, l->out_type);
  gr_conv_forward(l, &v, l->in[0], l->in[1], l->n_in == 3 ? l->in[2] : NULL, l->out[0]);
  return GR_OK;
}
static const gr_samples samples = {1, false};
static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, samples, run_f32); }
gr_kernel gr_conv_fast(const gr_op_call *s) {
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->in + 1, s->out);
  v.n = gr_widened_samples(s->in);
  gr_conv_library_open(&v, GR_ONEDNN_FORWARD);
  return gr_by_width(s, run_f32, run_narrow);
}

size_t gr_conv_op_scratch(const gr_op_call *s) {
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->in + 1, s->out);
  v.n = gr_widened_samples(s->in);
  return gr_widened_scratch(s, samples, gr_conv_scratch(&v, false));
}

const gr_attr gr_conv_attrs[] = {GR_CONV_ATTRS(struct gr_conv_attr), {0}};

void gr_conv_onnx(gr_onnx_call *c) {
  const struct gr_conv_attr *a = c->call[0]->attr;
  int rank = c->call[0]->in[0].rank, axes = rank - 2;
  const char *in[] = {gr_onnx_channels_first(c, c->in[0], rank), c->in[1],
                      c->call[0]->n_in == 3 ? c->in[2] : NULL};
  const char *y = gr_onnx_emit(c, "Conv", c->call[0]->n_in, in);
  gr_onnx_window(c, "strides", axes, &a->stride);
  gr_onnx_window(c, "dilations", axes, &a->dilation);
  gr_onnx_pads(c, axes, &a->pad);
  gr_onnx_int(c, "group", a->groups);
  c->out[0] = gr_onnx_channels_last(c, y, rank);
}

// ---- From ONNX --------------------------------------------------------------------------------

static const gr_op *op_of(int axes) {
  return axes == 1 ? &gr_op_conv1d : axes == 2 ? &gr_op_conv2d : axes == 3 ? &gr_op_conv3d : NULL;
}

// Settings of the block: `stride: 2`, or one for each axis, `stride_h: 2, stride_w: 1`.
static void put_each(gr_onnx_reading *r, const char *name, int axes, const int64_t *v,
                     int64_t otherwise, gr_read_setting *to, int *n) {
  static const char letters[] = "dhw";
  bool same = true;
  for (int i = 1; i < axes; i++) same &= v[i] == v[0];
  for (int i = 0; i < (same ? 1 : axes); i++) {
    if (same && v[0] == otherwise) continue;
    const char *each = gr_arena_printf(r->arena, "%s_%c", name, letters[3 - axes + i]);
    to[(*n)++] =
        (gr_read_setting){same ? name : each, gr_arena_printf(r->arena, "%lld", (long long)v[i])};
  }
}

static int read_block(gr_onnx_reading *r, int axes, const gr_read_windows *w, int64_t groups,
                      const int *in, const gr_type *type) {
  gr_read_setting s[16];
  int n = 0;
  const gr_type *weight = gr_read_type(r, in[1]);
  s[n++] = (gr_read_setting){"out", gr_arena_printf(r->arena, "%lld", (long long)weight->dim[0])};
  put_each(r, "kernel", axes, &weight->dim[2], 3, s, &n);
  put_each(r, "stride", axes, w->stride, 1, s, &n);
  put_each(r, "pad", axes, w->pad, 0, s, &n);
  put_each(r, "dilation", axes, w->dilation, 1, s, &n);
  put_each(r, "groups", 1, &groups, 1, s, &n);
  if (!in[2]) s[n++] = (gr_read_setting){"bias", "false"};
  const gr_read_part parts[] = {{"weight", in[1]}, {"bias", in[2]}};
  return gr_read_block(r, op_of(axes)->name, gr_read_path(r, in[1], "weight"), in[0], type, n, s, 2,
                       parts);
}

// A bias of zeros that is no parameter: exporters write one where a layer has none.
static bool is_none(const gr_onnx_reading *r, int b) {
  const gr_read_var *v = &r->vars[b];
  bool zeros = b && v->data[0] && !v->weight && v->type[0].dtype == GR_F32;
  for (int64_t i = 0; zeros && i < gr_type_count(&v->type[0]); i++)
    zeros = ((const float *)v->data[0])[i] == 0;
  return zeros;
}

void gr_conv_read(gr_onnx_reading *r) {
  gr_read_windows w;
  gr_type type[GR_READ_CHOICES];
  int in[] = {gr_read_in_last(r, 0), gr_read_in(r, 1, true), gr_read_in(r, 2, false)};
  int64_t groups = gr_read_int(r, "group", 1);
  if (is_none(r, in[2])) in[2] = 0;
  int axes = r->err ? 0 : gr_read_type(r, in[0])->rank - 2, n = in[2] ? 3 : 2;
  if (!r->err && !op_of(axes)) gr_read_refuse(r, "has %d axes of space", axes);
  if (!r->err && gr_read_type(r, in[1])->rank != axes + 2)
    gr_read_refuse(r, "has weights of %d axes", gr_read_type(r, in[1])->rank);
  if (r->err || !gr_read_window(r, in[0], axes, &gr_read_type(r, in[1])->dim[2], &w)) return;
  in[0] = gr_read_pad_evenly(r, in[0], false, &w);
  const gr_read_setting s[] = {{"stride", gr_read_each(r, axes, w.stride)},
                               {"pad", gr_read_each(r, axes, w.pad)},
                               {"dilation", gr_read_each(r, axes, w.dilation)},
                               {"groups", gr_arena_printf(r->arena, "%lld", (long long)groups)}};
  gr_read_types(r, op_of(axes), n, in, 4, s, type);
  bool alone = gr_read_is_own(r, in[1]) && (!in[2] || gr_read_is_own(r, in[2]));
  if (r->err) return;
  int y =
      alone ? read_block(r, axes, &w, groups, in, type) : gr_read_emit(r, op_of(axes), n, in, 4, s);
  gr_read_out(r, 0, y, true);
}
