// cudnn_attention.c - attention by cuDNN. A library that is missing or older, or that has no plan
// for a call, is no error: the op has kernels of its own.
//
// A call is divided into as few parts as the working memory of a part allows: some samples each, or
// some heads of one.
#include <math.h>
#include "runtime/device/cuda/cudnn_graph.h"
#include "runtime/device/cuda/parts.h"

#if !GR_HAVE_CUDNN
gr_status gr_fused_open(gr_cuda *c, const gr_gpu_attention *a, const gr_launch *where,
                        gr_chosen *chosen, gr_fused **out) {
  (void)c, (void)a, (void)where, (void)chosen, (void)out;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "graphrun was built without cuDNN's headers");
}
bool gr_fused_next(const gr_fused *f, gr_gpu_attention_part *part) {
  (void)f, (void)part;
  return false;
}
gr_status gr_fused_run(gr_cuda *c, gr_fused *f, const gr_gpu_attention_part *part,
                       const gr_launch *l) {
  (void)c, (void)f, (void)part, (void)l;
  return GR_OK;
}
void gr_fused_close(gr_cuda *c) { (void)c; }
void gr_fused_report(const gr_cuda *c, gr_text *t) { (void)c, (void)t; }
#else

// Older versions compute some shapes without a mask wrongly, unless one is given.
enum { LEAST_VERSION = 91600, LEAST_ARCH = 80, MAX_TRIES = 16, ARGUMENTS = GR_GPU_PLACES + 4 };

struct gr_fused {
  gr_fused *next;
  gr_gpu_attention call;
  gr_chosen *chosen;
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

typedef struct attempt {
  gr_cuda *device;
  gr_fused *of;
  const gr_launch *where;
} attempt;

// As of convolutions: the first part, where all addresses are known.
static gr_status try_plan(const attempt *t) {
  const gr_gpu_attention *a = &t->of->call;
  gr_gpu_attention_part part = {0};
  bool known = !a->room.space || gr_ref_address(a->room, t->where);
  for (int p = 0; p < GR_GPU_PLACES; p++)
    known &= !a->arrays[p].space || gr_ref_address(a->arrays[p], t->where);
  if (!known || !gr_fused_next(t->of, &part)) return GR_OK;
  GR_TRY(gr_fused_run(t->device, t->of, &part, t->where));
  GR_TRY(gr_cuda_wait_queue(t->device, GR_QUEUE_COMPUTE));
  return gr_cuda_taken(t->device, GR_TAKER_CUDNN);
}

static gr_status run_once(void *arg, const gr_dnn_plan *p) {
  const attempt *t = arg;
  gr_status s = try_plan(t);
  if (s) gr_chosen_refused(t->device, t->of->chosen, p->number, s);
  return s;
}

static gr_status plan(gr_cuda *c, gr_fused *f, const gr_launch *where) {
  const gr_gpu_attention *a = &f->call;
  const gr_dnn_target on = {c->dnn, .run_once = run_once, .arg = &(attempt){c, f, where}};
  if (gr_dnn.cudnnGetVersion() < LEAST_VERSION || c->arch < LEAST_ARCH)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "cuDNN 9.16 and a GPU of compute capability 8.0 are needed");
  gr_status s = GR_OK;
  int tries = 0;
  f->samples = a->n, f->heads = a->heads;
  do {
    if (gr_gpu_attention_bytes(a, f->samples, f->heads) > room_of(a)) continue;
    gr_dnn_graph_close(&f->graph);
    gr_dnn_attention(&f->graph, a, f->samples, f->heads);
    int64_t room = room_of(a) - gr_gpu_mask_bytes(a, f->samples, f->heads);
    gr_status_drop(s);
    s = gr_dnn_plan_open(&f->graph, &on, room, &f->plan);
    if (!s || ++tries == MAX_TRIES) return s;
  } while (divide(f));
  if (gr_status_code(s) == GR_ERR_LAUNCH) return s;  // none of what it has runs
  gr_status_drop(s);
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                 "cuDNN has no deterministic plan that needs at most %lld MB",
                 (long long)(room_of(a) >> 20));
}

gr_status gr_fused_open(gr_cuda *c, const gr_gpu_attention *a, const gr_launch *where,
                        gr_chosen *chosen, gr_fused **out) {
  if (!gr_cudnn_is_there(c, "attention"))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "there is no cuDNN");
  gr_fused *f = *out = GR_NEW(c->arena, gr_fused, 1);
  f->call = *a, f->chosen = chosen;
  f->next = c->fused, c->fused = f;
  gr_status s = plan(c, f, where);
  f->runs = !s;
  if (!s)
    chosen->by = (gr_proposal){.version = (int64_t)gr_dnn.cudnnGetVersion(),
                               .number = f->plan.number,
                               .samples = f->samples,
                               .heads = f->heads};
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

// The values of a call that cuDNN is given by id; the first `hosts` are in the host's memory.
typedef struct arguments {
  float scale, hidden, keep, unkeep;
  int n, hosts;
  int64_t id[ARGUMENTS];
  void *address[ARGUMENTS];
} arguments;

static void add_host(arguments *to, int64_t id, float *value) {
  to->id[to->n] = id, to->address[to->n++] = value, to->hosts = to->n;
}

static void collect(const gr_gpu_attention *a, arguments *to) {
  to->scale = (float)a->scale, to->hidden = -INFINITY;
  to->keep = (float)a->keep, to->unkeep = (float)(1 / a->keep);
  add_host(to, GR_DNN_SCALE, &to->scale);
  if (a->causal || a->arrays[GR_GPU_KEYS].space) add_host(to, GR_DNN_HIDDEN, &to->hidden);
  if (a->arrays[GR_GPU_MASK].space) add_host(to, GR_DNN_KEEP, &to->keep);
  if (a->gradient) add_host(to, GR_DNN_UNKEEP, &to->unkeep);
  for (int p = 0; p < GR_GPU_PLACES; p++)
    if (a->arrays[p].space) to->id[to->n++] = p + 1;
}

bool gr_fused_next(const gr_fused *f, gr_gpu_attention_part *part) {
  if (!part->samples)
    *part = (gr_gpu_attention_part){.samples = f->samples, .heads = f->heads};
  else if ((part->head += f->heads) == f->call.heads)
    part->head = 0, part->sample += f->samples;
  return part->sample < f->call.n;
}

gr_status gr_fused_run(gr_cuda *c, gr_fused *f, const gr_gpu_attention_part *part,
                       const gr_launch *l) {
  const gr_gpu_attention *a = &f->call;
  arguments with = {0};
  collect(a, &with);
  for (int i = with.hosts; i < with.n; i++)
    with.address[i] = part_of(a, (gr_gpu_place)(with.id[i] - 1), part->sample, part->head, l);
  char *room = (char *)(a->room.space ? gr_ref_address(a->room, l) : c->workspace);
  room += gr_gpu_mask_bytes(a, part->samples, part->heads);
  return gr_dnn_plan_run(c->dnn, &f->plan, with.n, with.id, with.address, room);
}

void gr_fused_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  for (const gr_fused *f = c->fused; f; f = f->next) n += f->runs;
  if (n) gr_text_printf(t, "; %d call%s of attention by cuDNN", n, gr_text_s(n));
}
#endif
