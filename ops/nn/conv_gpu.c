// conv_gpu.c - convolutions on a GPU: a library's, or the kernels of conv.cu.
//
// The library has the kernel's channels last too: [out, taps, channels]. A convolution is then a
// kernel that reorders w, once a step, the library's call, and a kernel that adds the bias or
// reorders the gradient of w.
#include "ops/kernels/gpu_tile.h"
#include "ops/nn/conv.h"

GR_CU(conv);

static void add_sizes(gr_gpu_kernel *k, const gr_conv_sizes *v) {
  const gr_windows *w = &v->w;
  gr_gpu_int(k, v->n), gr_gpu_int(k, v->c), gr_gpu_int(k, v->out), gr_gpu_int(k, v->groups);
  const int64_t *each[] = {w->in, w->out, w->size, w->stride, w->pad, w->dilation};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    for (int d = 0; d < GR_SPATIAL; d++) gr_gpu_int(k, each[i][d]);
}

// ---- By a library -------------------------------------------------------------------------------

static size_t lined(size_t bytes) { return (bytes + 255) / 256 * 256; }

// Bytes of w in the library's order; 0: its own is the same.
static size_t reordered(const gr_conv_sizes *v, const gr_type *w) {
  return gr_conv_taps(v) == 1 || gr_conv_c(v) == 1 ? 0 : lined(gr_type_bytes(w));
}

// Values whose sizes are no multiples of 16 bytes are not aligned to that in a loop's sequences.
static bool suits(const gr_conv_sizes *v, const gr_type *t) {
  bool type = t->dtype == GR_F32 || gr_is_narrow(t->dtype);
  return type && gr_type_bytes(t) % 16 == 0 && gr_type_count(t) <= INT32_MAX &&
         v->out * gr_conv_c(v) <= INT32_MAX;
}
static bool by_library(const gr_gpu_call *g, const gr_conv_sizes *v) {
  const gr_op_call *s = g->call;
  bool all = g->layers && suits(v, &s->in[0]) && suits(v, &s->in[1]) && suits(v, s->out);
  return all && s->in[0].dtype == s->in[1].dtype && s->in[0].dtype == s->out[0].dtype;
}

static gr_gpu_conv conv_of(const gr_conv_sizes *v, gr_gpu_conv_kind what, gr_dtype d) {
  const gr_windows *w = &v->w;
  gr_gpu_conv c = {.what = what,
                   .dtype = d,
                   .spatial = w->axes,
                   .n = v->n,
                   .c = v->c,
                   .out_c = v->out,
                   .groups = v->groups};
  for (int i = 0; i < w->axes; i++) {
    int k = GR_SPATIAL - w->axes + i;
    c.in[i] = w->in[k], c.out[i] = w->out[k], c.kernel[i] = w->size[k];
    c.stride[i] = w->stride[k], c.pad[i] = w->pad[k], c.dilation[i] = w->dilation[k];
  }
  return c;
}

static gr_gpu_kernel *add_plain(gr_gpu_call *g, const gr_conv_sizes *v, const char *kind,
                                const char *entry, int64_t items) {
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_conv, entry, gr_gpu_items(items), GR_GPU_BLOCK);
  gr_gpu_define(g, k, kind, "1");
  if (g->scratch) gr_gpu_define(g, k, "SCRATCH", "1");
  gr_gpu_int(k, v->out), gr_gpu_int(k, gr_conv_c(v)), gr_gpu_int(k, gr_conv_taps(v));
  return k;
}

// Where the library reads w, operand `in`: itself, or after a kernel that reorders it.
static gr_gpu_ref reorder(gr_gpu_call *g, const gr_conv_sizes *v, int in) {
  if (!reordered(v, &g->call->in[in])) return (gr_gpu_ref){GR_GPU_IN, in, 0};
  gr_gpu_kernel *k = add_plain(g, v, "REORDER", "conv_reorder", gr_type_count(&g->call->in[in]));
  gr_gpu_define(g, k, "KERNEL", "in%d", in);
  return (gr_gpu_ref){GR_GPU_SCRATCH, 0, 0};
}

static gr_status forward(gr_gpu_call *g, const gr_conv_sizes *v) {
  gr_gpu_conv c = conv_of(v, GR_GPU_CONV, g->call->in[0].dtype);
  c.x = (gr_gpu_ref){GR_GPU_IN, 0, 0}, c.w = reorder(g, v, 1), c.y = (gr_gpu_ref){GR_GPU_OUT, 0, 0};
  gr_gpu_conv_add(g, &c);
  if (g->call->n_in == 3) {
    int64_t items = gr_type_count(g->call->out);
    gr_gpu_int(add_plain(g, v, "ADD_BIAS", "conv_add_bias", items), items);
  }
  return GR_OK;
}

static gr_status grad_x(gr_gpu_call *g, const gr_conv_sizes *v) {
  gr_gpu_conv c = conv_of(v, GR_GPU_CONV_GRAD_X, g->call->in[0].dtype);
  c.x = (gr_gpu_ref){GR_GPU_OUT, 0, 0}, c.w = reorder(g, v, 0), c.y = (gr_gpu_ref){GR_GPU_IN, 1, 0};
  gr_gpu_conv_add(g, &c);
  return GR_OK;
}

static gr_status grad_w(gr_gpu_call *g, const gr_conv_sizes *v) {
  gr_gpu_conv c = conv_of(v, GR_GPU_CONV_GRAD_W, g->call->in[0].dtype);
  bool moved = reordered(v, g->call->out);
  c.x = (gr_gpu_ref){GR_GPU_IN, 0, 0}, c.y = (gr_gpu_ref){GR_GPU_IN, 1, 0};
  c.w = (gr_gpu_ref){moved ? GR_GPU_SCRATCH : GR_GPU_OUT, 0, 0};
  gr_gpu_conv_add(g, &c);
  if (moved) add_plain(g, v, "RESTORE", "conv_restore", gr_type_count(g->call->out));
  return GR_OK;
}

// ---- By kernels of our own ----------------------------------------------------------------------

// Appends a kernel of matrix tiles; call it when the size of the working memory is known.
static gr_gpu_kernel *add_tiles(gr_gpu_call *g, const gr_conv_sizes *v, const char *kind,
                                const char *entry, int64_t m, int64_t n, int64_t parts) {
  gr_gpu_kernel *k = gr_gpu_tile_add(g, gr_cu_conv, entry, m, n, parts);
  gr_gpu_define(g, k, kind, "1");
  if (g->scratch) gr_gpu_define(g, k, "SCRATCH", "1");
  add_sizes(k, v);
  return k;
}

gr_status gr_conv_forward_gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->in + 1, s->out);
  g->scratch = reordered(&v, &s->in[1]);
  if (by_library(g, &v)) return forward(g, &v);
  add_tiles(g, &v, "FORWARD", "conv", v.n * gr_conv_windows(&v), gr_conv_out(&v), v.groups);
  return GR_OK;
}

gr_status gr_conv_grad_x_gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->out, s->in, s->in + 1);
  g->scratch = reordered(&v, &s->in[0]);
  if (by_library(g, &v)) return grad_x(g, &v);
  add_tiles(g, &v, "GRAD_X", "conv_grad_x", v.n * gr_conv_in(&v), gr_conv_c(&v), v.groups);
  return GR_OK;
}

gr_status gr_conv_grad_w_gpu(gr_gpu_call *g) {
  enum { LEAST = 256 };  // windows that a part sums
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->out, s->in + 1);
  int64_t patch = gr_conv_taps(&v) * gr_conv_c(&v), size = v.out * patch;
  gr_gpu_parts cut = gr_gpu_cut(1 + size / 4096, v.n * gr_conv_windows(&v), LEAST);
  g->scratch = gr_gpu_wide(s->in[0].dtype) * (size_t)(cut.parts * size);
  if (by_library(g, &v)) return grad_w(g, &v);
  gr_gpu_kernel *k =
      add_tiles(g, &v, "GRAD_W", "conv_grad_w", gr_conv_out(&v), patch, cut.parts * v.groups);
  gr_gpu_int(k, cut.share), gr_gpu_int(k, cut.parts);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "conv_add_parts", gr_gpu_items(size), GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, v.out), gr_gpu_int(k, gr_conv_c(&v)), gr_gpu_int(k, gr_conv_taps(&v));
  gr_gpu_int(k, cut.parts);
  return GR_OK;
}
