// cudnn_attention.c - attention by cuDNN. A library that is missing or older, or that has no plan
// for a call, is no error: the op has kernels of its own.
//
// The samples of a call are divided into as few parts as the working memory of a part allows.
#include <math.h>
#include "runtime/device/cuda/cudnn_graph.h"
#include "runtime/device/cuda/parts.h"

#if !GR_HAVE_CUDNN
gr_status gr_fused_open(gr_cuda *c, const gr_gpu_attention *a, gr_fused **out) {
  (void)c, (void)a, (void)out;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "graphrun was built without cuDNN's headers");
}
gr_status gr_fused_run(gr_cuda *c, gr_fused *f, const gr_launch *l) {
  (void)c, (void)f, (void)l;
  return GR_OK;
}
void gr_fused_close(gr_cuda *c) { (void)c; }
void gr_fused_report(const gr_cuda *c, gr_text *t) { (void)c, (void)t; }
#else

// Older versions compute some shapes without a mask wrongly, unless one is given.
enum { LEAST_VERSION = 91600, LEAST_ARCH = 80, MAX_PARTS = 16, ARGUMENTS = GR_GPU_PLACES + 3 };

struct gr_fused {
  gr_fused *next;
  gr_gpu_attention call;
  int64_t parts;
  gr_dnn_graph graph;
  gr_dnn_plan plan;
  bool runs;
};

// What cuDNN needs at least for the gradients of n samples: the gradient of the scores, in tiles.
static int64_t least(const gr_gpu_attention *a, int64_t n) {
  enum { TILE = 64 };
  int64_t t = (a->t + TILE - 1) / TILE * TILE, s = (a->s + TILE - 1) / TILE * TILE;
  return a->gradient ? n * a->heads * t * s * (int64_t)gr_dtypes[a->dtype].size : 0;
}

static gr_status plan(const gr_cuda *c, gr_fused *f) {
  const gr_gpu_attention *a = &f->call;
  const gr_dnn_target on = {.handle = c->dnn};
  if (gr_dnn.cudnnGetVersion() < LEAST_VERSION || c->arch < LEAST_ARCH)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "cuDNN 9.16 and a GPU of compute capability 8.0 are needed");
  for (f->parts = 1; f->parts <= MAX_PARTS; f->parts++) {
    if (a->n % f->parts || least(a, a->n / f->parts) > GR_CUDA_WORKSPACE) continue;
    gr_dnn_graph_close(&f->graph);
    gr_dnn_attention(&f->graph, a, a->n / f->parts);
    gr_status s = gr_dnn_plan_open(&f->graph, &on, GR_CUDA_WORKSPACE, &f->plan);
    if (!s || f->parts == MAX_PARTS) return s;
    gr_status_drop(s);
  }
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                 "cuDNN has no deterministic plan that needs at most %d MB",
                 GR_CUDA_WORKSPACE >> 20);
}

gr_status gr_fused_open(gr_cuda *c, const gr_gpu_attention *a, gr_fused **out) {
  if (!gr_cudnn_is_there(c, "attention"))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "there is no cuDNN");
  gr_fused *f = *out = GR_NEW(c->arena, gr_fused, 1);
  f->call = *a;
  f->next = c->fused, c->fused = f;
  gr_status s = plan(c, f);
  f->runs = !s;
  if (!s) return GR_OK;
  gr_cudnn_own_kernels(c, "some calls of attention", s);
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "cuDNN does not have the attention");
}

void gr_fused_close(gr_cuda *c) {
  for (gr_fused *f = c->fused; f; f = f->next) gr_dnn_graph_close(&f->graph);
}

gr_status gr_fused_run(gr_cuda *c, gr_fused *f, const gr_launch *l) {
  static const float hidden = -INFINITY, one = 1;
  const gr_gpu_attention *a = &f->call;
  const float scale = (float)a->scale;
  int64_t id[ARGUMENTS] = {GR_DNN_SCALE};
  void *address[ARGUMENTS] = {(void *)&scale};
  int n = 1;
  if (a->causal || a->arrays[GR_GPU_KEYS].space)
    id[n] = GR_DNN_HIDDEN, address[n++] = (void *)&hidden;
  if (a->gradient) id[n] = GR_DNN_ONE, address[n++] = (void *)&one;
  int first = n;
  for (int p = 0; p < GR_GPU_PLACES; p++)
    if (a->arrays[p].space) id[n] = p + 1, address[n++] = (void *)gr_ref_address(a->arrays[p], l);
  for (int64_t part = 0; part < f->parts; part++) {
    GR_TRY(gr_dnn_plan_run(c->dnn, &f->plan, n, id, address, (void *)c->workspace));
    for (int i = first; i < n; i++)
      address[i] = (char *)address[i] +
                   a->n / f->parts * gr_dnn_attention_step(a, (gr_gpu_place)(id[i] - 1));
  }
  return GR_OK;
}

void gr_fused_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  for (const gr_fused *f = c->fused; f; f = f->next) n += f->runs;
  if (n) gr_text_printf(t, "; %d call%s of attention by cuDNN", n, gr_text_s(n));
}
#endif
