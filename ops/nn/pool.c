// pool.c - see pool.h.
#include "ops/nn/pool.h"
#include "ops/kernels/onnx.h"

static gr_window_attr window_of(const gr_pool_attr *a) {
  return (gr_window_attr){
      .size = &a->kernel, .stride = a->stride.n ? &a->stride : &a->kernel, .pad = &a->pad};
}

gr_pool gr_pool_of(const gr_pool_attr *attr, const gr_type *x, const gr_type *y) {
  int axes = x->rank - 2;
  gr_window_attr a = attr ? window_of(attr) : (gr_window_attr){0};
  gr_pool p = {.w = gr_windows_of(axes, &a, x->dim + 1),
               .n = x->dim[0],
               .c = x->dim[x->rank - 1],
               .adaptive = !attr,
               .count_pad = true};
  for (int i = 0; i < axes; i++) p.w.out[GR_SPATIAL - axes + i] = y->dim[1 + i];
  return p;
}

void gr_pool_letters(const gr_op_call *s, const char *what, char buf[128]) {
  static const char x[] = "THW", y[] = "XYZ", fresh[] = "___";
  int axes = s->in[0].rank < 3 ? 1 : s->in[0].rank > 5 ? 3 : s->in[0].rank - 2;
  for (const char *p = what; *p; p++) {
    if (*p == '>') *buf++ = '-', *buf++ = '>';
    if (*p == '>') continue;
    if (p > what && p[-1] != '>') *buf++ = ',';
    *buf++ = 'n';
    memcpy(buf, *p == 'x' ? x : *p == 'y' ? y : fresh, (size_t)axes);
    buf += axes;
    *buf++ = 'c';
  }
  *buf = 0;
}

gr_status gr_pool_check(const gr_op_call *s) { return gr_require_float(s, 0, "the operand"); }

gr_status gr_pool_infer_sizes(const gr_op_call *s, const gr_type *x, gr_type *y) {
  int axes = x->rank - 2;
  gr_window_attr a = window_of(s->attr);
  GR_TRY(gr_windows_check(s, axes, &a));
  gr_windows w = gr_windows_of(axes, &a, x->dim + 1);
  for (int i = 0; i < GR_SPATIAL; i++)
    if (2 * w.pad[i] > w.size[i])
      return gr_fail(GR_ERR_TYPE, s->loc,
                     "pad of %s is %lld, more than half of its kernel of %lld: a window would be "
                     "padding alone",
                     s->op->name, (long long)w.pad[i], (long long)w.size[i]);
  return gr_windows_infer(s, &w, y);
}

gr_status gr_pool_infer(gr_op_call *s) {
  GR_TRY(gr_pool_check(s));
  return gr_pool_infer_sizes(s, &s->in[0], &s->out[0]);
}

gr_pool_range gr_pool_elements(const gr_pool *p, int i, int64_t s) {
  const gr_windows *w = &p->w;
  if (p->adaptive)
    return (gr_pool_range){s * w->in[i] / w->out[i],
                           ((s + 1) * w->in[i] + w->out[i] - 1) / w->out[i]};
  int64_t begin = gr_window_at(w, i, s, 0), end = begin + w->size[i];
  return (gr_pool_range){gr_max_i64(0, begin), gr_min_i64(w->in[i], end)};
}

// The windows along axis i that contain `element`; there may be none.
static gr_pool_range windows_with(const gr_pool *p, int i, int64_t element) {
  const gr_windows *w = &p->w;
  if (p->adaptive)
    return (gr_pool_range){element * w->out[i] / w->in[i],
                           ((element + 1) * w->out[i] - 1) / w->in[i] + 1};
  int64_t first = element + w->pad[i] - w->size[i] + 1;  // where the first of them may begin
  int64_t begin = first <= 0 ? 0 : (first + w->stride[i] - 1) / w->stride[i];
  return (gr_pool_range){begin, gr_min_i64(w->out[i], (element + w->pad[i]) / w->stride[i] + 1)};
}

int64_t gr_pool_divisor(const gr_pool *p, const gr_pool_range r[GR_SPATIAL]) {
  int64_t n = 1;
  for (int i = 0; i < GR_SPATIAL; i++) n *= r[i].end - r[i].begin;
  return p->adaptive || !p->count_pad ? n : gr_product(p->w.size);
}

static void begin(gr_pool_walk *w) {
  for (int i = 0; i < GR_SPATIAL; i++) w->position[i] = w->r[i].begin;
  for (int i = 0; i < GR_SPATIAL; i++)
    if (w->r[i].begin >= w->r[i].end) w->position[0] = w->r[0].end;  // an element between windows
}

gr_pool_walk gr_pool_walk_of(const gr_pool *p, int64_t r) {
  int64_t windows = gr_product(p->w.out), s[GR_SPATIAL];
  gr_pool_walk w = {.first = r / windows * gr_product(p->w.in), .size = p->w.in};
  gr_unravel(r % windows, p->w.out, s);
  for (int i = 0; i < GR_SPATIAL; i++) w.r[i] = gr_pool_elements(p, i, s[i]);
  return begin(&w), w;
}

gr_pool_walk gr_pool_readers_of(const gr_pool *p, int64_t i) {
  int64_t in = gr_product(p->w.in), position[GR_SPATIAL];
  gr_pool_walk w = {.first = i / in * gr_product(p->w.out), .size = p->w.out};
  gr_unravel(i % in, p->w.in, position);
  for (int k = 0; k < GR_SPATIAL; k++) w.r[k] = windows_with(p, k, position[k]);
  return begin(&w), w;
}

gr_status gr_pool_mean_cpu(const gr_launch *l, const gr_pool *p) {
  for (int64_t i = 0; i < p->n * gr_product(p->w.out) * p->c; i++) {
    double sum = 0;
    gr_pool_walk w = gr_pool_walk_of(p, i / p->c);
    for (int64_t element; (element = gr_pool_next(&w)) >= 0;)
      sum += IN(0, element * p->c + i % p->c);
    OUT(0, i, sum / (double)gr_pool_divisor(p, w.r));
  }
  return GR_OK;
}

gr_status gr_pool_mean_grad_cpu(const gr_launch *l, const gr_pool *p) {
  for (int64_t i = 0; i < p->n * gr_product(p->w.in) * p->c; i++) {
    double sum = 0;
    gr_pool_walk w = gr_pool_readers_of(p, i / p->c);
    for (int64_t r; (r = gr_pool_next(&w)) >= 0;) {
      gr_pool_walk of = gr_pool_walk_of(p, r);
      sum += IN(0, r * p->c + i % p->c) / (double)gr_pool_divisor(p, of.r);
    }
    OUT(0, i, sum);
  }
  return GR_OK;
}

GR_CU(pool);

void gr_pool_gpu(gr_gpu_call *g, const gr_pool *p, const char *entry, const char *kind) {
  int64_t items = gr_type_count(&g->call->out[0]);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_pool, entry, gr_gpu_items(items), GR_GPU_BLOCK);
  gr_gpu_define(g, k, "ENTRY", "%s", entry);
  gr_gpu_define(g, k, kind, "1");
  gr_gpu_define(g, k, "ADAPTIVE", "%d", p->adaptive);
  gr_gpu_define(g, k, "COUNT_PAD", "%d", p->count_pad);
  gr_gpu_int(k, p->n), gr_gpu_int(k, p->c);
  const int64_t *each[] = {p->w.in, p->w.out, p->w.size, p->w.stride, p->w.pad};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    for (int d = 0; d < GR_SPATIAL; d++) gr_gpu_int(k, each[i][d]);
}

void gr_pool_onnx(gr_onnx_call *c, const char *node) {
  gr_window_attr a = window_of(c->call[0]->attr);
  int rank = c->call[0]->in[0].rank;
  c->out[0] = GR_ONNX(c, node, gr_onnx_channels_first(c, c->in[0], rank));
  gr_onnx_window(c, "kernel_shape", rank - 2, a.size);
  gr_onnx_window(c, "strides", rank - 2, a.stride);
  gr_onnx_pads(c, rank - 2, a.pad);
}

void gr_pool_onnx_end(gr_onnx_call *c) {
  c->out[0] = gr_onnx_channels_last(c, c->out[0], c->call[0]->in[0].rank);
}
