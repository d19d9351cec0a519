// cudnn_attention.c - attention by cuDNN. A library that is missing or older, or that has no plan
// for a call, is no error: the op has kernels of its own.
//
// A call is divided into as few parts as the working memory of a part allows: some samples each, or
// some heads of one.
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
enum { LEAST_VERSION = 91600, LEAST_ARCH = 80, MAX_TRIES = 16, ARGUMENTS = GR_GPU_PLACES + 3 };

struct gr_fused {
  gr_fused *next;
  gr_gpu_attention call;
  int64_t samples, heads;  // of a part
  gr_dnn_graph graph;
  gr_dnn_plan plan;
  bool runs;
};

static int64_t room_of(const gr_gpu_attention *a) {
  return a->room.space ? a->room_bytes : GR_CUDA_WORKSPACE;
}

static int64_t next_divisor(int64_t n, int64_t divisor) {
  while (n % --divisor) {
  }
  return divisor;
}

// The next smaller part; false: there is none.
static bool divide(gr_fused *f) {
  const gr_gpu_attention *a = &f->call;
  if (f->samples > 1)
    f->samples = next_divisor(a->n, f->samples);
  else if (f->heads > 1)
    f->heads = next_divisor(a->heads, f->heads);
  else
    return false;
  return true;
}

static gr_status plan(const gr_cuda *c, gr_fused *f) {
  const gr_gpu_attention *a = &f->call;
  const gr_dnn_target on = {.handle = c->dnn};
  if (gr_dnn.cudnnGetVersion() < LEAST_VERSION || c->arch < LEAST_ARCH)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "cuDNN 9.16 and a GPU of compute capability 8.0 are needed");
  int tries = 0;
  f->samples = a->n, f->heads = a->heads;
  do {
    if (gr_gpu_attention_bytes(a, f->samples, f->heads) > room_of(a)) continue;
    gr_dnn_graph_close(&f->graph);
    gr_dnn_attention(&f->graph, a, f->samples, f->heads);
    gr_status s = gr_dnn_plan_open(&f->graph, &on, room_of(a), &f->plan);
    if (!s || ++tries == MAX_TRIES) return s;
    gr_status_drop(s);
  } while (divide(f));
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                 "cuDNN has no deterministic plan that needs at most %lld MB",
                 (long long)(room_of(a) >> 20));
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

static void *part_of(const gr_gpu_attention *a, gr_gpu_place p, int64_t sample, int64_t head,
                     const gr_launch *l) {
  return (char *)gr_ref_address(a->arrays[p], l) + gr_dnn_attention_offset(a, p, sample, head);
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
    if (a->arrays[p].space) id[n++] = p + 1;
  void *room = (void *)(a->room.space ? gr_ref_address(a->room, l) : c->workspace);
  for (int64_t sample = 0; sample < a->n; sample += f->samples)
    for (int64_t head = 0; head < a->heads; head += f->heads) {
      for (int i = first; i < n; i++)
        address[i] = part_of(a, (gr_gpu_place)(id[i] - 1), sample, head, l);
      GR_TRY(gr_dnn_plan_run(c->dnn, &f->plan, n, id, address, room));
    }
  return GR_OK;
}

void gr_fused_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  for (const gr_fused *f = c->fused; f; f = f->next) n += f->runs;
  if (n) gr_text_printf(t, "; %d call%s of attention by cuDNN", n, gr_text_s(n));
}
#endif
