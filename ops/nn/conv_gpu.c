// conv_gpu.c - convolutions on a GPU: the kernels of conv.cu.
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

gr_status gr_conv_forward_gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->in + 1, s->out);
  gr_gpu_kernel *k =
      gr_gpu_tile_add(g, gr_cu_conv, "conv", v.n * gr_conv_windows(&v), gr_conv_out(&v), v.groups);
  gr_gpu_define(g, k, "FORWARD", "1");
  add_sizes(k, &v);
  return GR_OK;
}

gr_status gr_conv_grad_x_gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->out, s->in, s->in + 1);
  gr_gpu_kernel *k =
      gr_gpu_tile_add(g, gr_cu_conv, "conv_grad_x", v.n * gr_conv_in(&v), gr_conv_c(&v), v.groups);
  gr_gpu_define(g, k, "GRAD_X", "1");
  add_sizes(k, &v);
  return GR_OK;
}

gr_status gr_conv_grad_w_gpu(gr_gpu_call *g) {
  enum { LEAST = 256 };  // windows that a part sums
  const gr_op_call *s = g->call;
  gr_conv_sizes v = gr_conv_sizes_of(s->attr, s->in, s->out, s->in + 1);
  int64_t patch = gr_conv_taps(&v) * gr_conv_c(&v), size = v.out * patch;
  gr_gpu_parts cut = gr_gpu_cut(1 + size / 4096, v.n * gr_conv_windows(&v), LEAST);
  gr_gpu_kernel *k =
      gr_gpu_tile_add(g, gr_cu_conv, "conv_grad_w", gr_conv_out(&v), patch, cut.parts * v.groups);
  gr_gpu_define(g, k, "GRAD_W", "1");
  add_sizes(k, &v);
  gr_gpu_int(k, cut.share), gr_gpu_int(k, cut.parts);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "conv_add_parts", gr_gpu_items(size), GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, v.out), gr_gpu_int(k, gr_conv_c(&v)), gr_gpu_int(k, gr_conv_taps(&v));
  gr_gpu_int(k, cut.parts);
  g->scratch = gr_gpu_wide(s->in[0].dtype) * (size_t)(cut.parts * size);
  return GR_OK;
}
