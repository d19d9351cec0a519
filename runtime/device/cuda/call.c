// call.c - from an op's call to what the GPU is given: the launches that ops/kernels/gpu.h
// describes.
#include <limits.h>
#include <string.h>
#include "runtime/device/cuda/parts.h"

// One launch, with all that is known before it runs.
struct gr_step {
  gr_gpu_kind kind;
  union {
    struct {
      CUfunction function;
      gr_unit *unit;
      char *entry;
      unsigned blocks, threads, shared;
      bool cooperative, of_part;
      int n_numbers;
      gr_gpu_number *number;
      gr_step *next_pending;
    } kernel;
    gr_product *product;
    gr_convolution *convolution;
    struct {
      gr_fused *fused;
      gr_step *mask;  // the step that is run before each part, or NULL
    } attention;
    gr_gpu_copy copy;
  };
};

static bool is_of_part(const gr_step *s) { return s->kind == GR_GPU_KERNEL && s->kernel.of_part; }

// What runs a call: the context of its launches.
typedef struct gr_cuda_call {
  gr_cuda *device;
  bool scratch;  // kernels are given the address of their working memory
  int n;
  gr_step *step;
} gr_cuda_call;

// ---- Choosing -----------------------------------------------------------------------------------

static gr_status open_kernel(gr_cuda *c, const gr_gpu_call *g, const gr_gpu_kernel *k,
                             const char *text, gr_step *out) {
  GR_TRY(gr_unit_add(c, text, g->call, &out->kernel.unit));
  out->kernel.entry = gr_arena_strdup(c->arena, k->entry);
  out->kernel.blocks = (unsigned)k->blocks, out->kernel.threads = (unsigned)k->threads;
  out->kernel.shared = (unsigned)k->shared, out->kernel.cooperative = k->cooperative;
  out->kernel.of_part = k->of_part;
  out->kernel.n_numbers = k->n_numbers;
  out->kernel.number = GR_NEW(c->arena, gr_gpu_number, k->n_numbers + 1);
  memcpy(out->kernel.number, k->number, sizeof *k->number * (size_t)k->n_numbers);
  if (k->blocks < 1 || k->blocks > INT_MAX || k->threads < 1 || k->threads > 1024 ||
      k->threads % 32)
    return gr_fail(GR_ERR_BUG, g->call->loc, "kernel '%s' of op '%s' has %lld blocks of %d threads",
                   k->entry, g->call->op->name, (long long)k->blocks, k->threads);
  out->kernel.next_pending = c->pending, c->pending = out;
  return GR_OK;
}

gr_status gr_step_open_kernel(gr_cuda *c, const gr_gpu_call *g, const gr_gpu_kernel *k,
                              const char *text, gr_step **out) {
  *out = GR_NEW(c->arena, gr_step, 1);
  (*out)->kind = GR_GPU_KERNEL;
  return open_kernel(c, g, k, text, *out);
}

static gr_status open_own_kernel(gr_cuda *c, const gr_gpu_call *g, const gr_gpu_kernel *k,
                                 gr_step *out) {
  gr_arena *work = gr_arena_create();
  gr_text text = gr_text_make(work);
  gr_gpu_source(g, k, &text);
  return gr_arena_end(work, open_kernel(c, g, k, text.chars, out));
}

static gr_status open_step(gr_cuda *c, const gr_gpu_call *g, const gr_gpu_launch *l, gr_step *out) {
  *out = (gr_step){.kind = l->kind};
  switch (l->kind) {
    case GR_GPU_KERNEL:
      return open_own_kernel(c, g, &l->kernel, out);
    case GR_GPU_GEMM:
      return gr_product_open(c, &l->gemm, &out->product);
    case GR_GPU_COPY:
      out->copy = l->copy;
      return GR_OK;
    case GR_GPU_CONVOLUTION:
    case GR_GPU_ATTENTION:  // open since describe()
      return GR_OK;
  }
  return GR_OK;
}

gr_status gr_step_open(gr_cuda *c, const gr_gpu_call *g, const gr_gpu_launch *l, gr_step **out) {
  *out = GR_NEW(c->arena, gr_step, 1);
  return open_step(c, g, l, *out);
}

static gr_status run(const gr_launch *);

// What a library does of a call: one of these at most.
typedef struct layer {
  gr_convolution *convolution;
  gr_fused *attention;
} layer;

static gr_status open_layer(gr_cuda *c, const gr_gpu_call *g, layer *out) {
  for (int i = 0; i < g->n; i++) {
    const gr_gpu_launch *l = &g->launch[i];
    if (l->kind == GR_GPU_CONVOLUTION)
      return gr_convolution_open(c, &l->conv, g->where, gr_chosen_add(c, g->call),
                                 &out->convolution);
    if (l->kind == GR_GPU_ATTENTION)
      return gr_fused_open(c, &l->attention, g->where, gr_chosen_add(c, g->call), &out->attention);
  }
  return GR_OK;
}

// Describes the call, by the op's own kernels if the library does not have its layer.
static gr_status describe(gr_cuda *c, gr_gpu_call *g, layer *out) {
  g->layers = true;
  GR_TRY(gr_gpu_describe(g));
  gr_status s = open_layer(c, g, out);
  if (gr_status_code(s) != GR_ERR_UNSUPPORTED) return s;
  gr_status_drop(s);
  g->n = 0, g->scratch = 0, g->layers = false;
  return gr_gpu_describe(g);
}

// A plan knows no GPU, so that its working memory has to be enough for each.
static gr_status check_scratch(const gr_gpu_call *g) {
  size_t planned = g->scratch ? gr_call_scratch(g->call, true) : 0;
  if (g->scratch <= planned) return GR_OK;
  return gr_fail(GR_ERR_BUG, g->call->loc,
                 "op '%s' needs %zu bytes of working memory on this GPU, and the plan has %zu",
                 g->call->op->name, g->scratch, planned);
}

static gr_status open_call(gr_cuda *c, gr_gpu_call *g, gr_device_kernel *out) {
  gr_cuda_call *made = GR_NEW(c->arena, gr_cuda_call, 1);
  layer library = {0};
  GR_TRY(describe(c, g, &library));
  GR_TRY(check_scratch(g));
  *made = (gr_cuda_call){.device = c, .scratch = g->scratch > 0, .n = g->n};
  made->step = GR_NEW(c->arena, gr_step, g->n + 1);
  for (int i = 0; i < g->n; i++) {
    gr_step *step = &made->step[i];
    GR_TRY(open_step(c, g, &g->launch[i], step));
    if (step->kind == GR_GPU_CONVOLUTION) step->convolution = library.convolution;
    if (step->kind != GR_GPU_ATTENTION) continue;
    step->attention.fused = library.attention;
    if (i && is_of_part(step - 1)) step->attention.mask = step - 1;
  }
  *out = (gr_device_kernel){run, made};
  return GR_OK;
}

// Copies over the link, on a queue of their own.
static gr_status run_fetch(const gr_launch *l) {
  gr_cuda *c = gr_cuda_of(l->context);
  CUstream stream = c->stream[GR_QUEUE_FETCH];
  c->launches += (uint64_t)l->n_in;
  for (int k = 0; k < l->n_in; k++)
    CU_TRY(cuMemcpyAsync((CUdeviceptr)l->out[k], (CUdeviceptr)l->in[k],
                         gr_type_bytes(&l->in_type[k]), stream));
  return GR_OK;
}

gr_status gr_cuda_kernel(gr_device *d, const gr_op_call *call, const gr_launch *where,
                         gr_device_kernel *out) {
  gr_cuda *c = gr_cuda_of(d);
  if (call->op->collective) {  // communicators take the device's addresses
    *out = (gr_device_kernel){call->op->cpu, d};
    return GR_OK;
  }
  if (gr_device_queue(d, call->op) == GR_QUEUE_FETCH) {
    *out = (gr_device_kernel){run_fetch, d};
    return GR_OK;
  }
  gr_arena *work = gr_arena_create();
  gr_gpu_call g = {.call = call,
                   .takes = gr_product_takes,
                   .device = c,
                   .processors = c->processors,
                   .shared = (size_t)c->shared,
                   .where = where,
                   .arena = work};
  g.launch = GR_NEW(work, gr_gpu_launch, GR_GPU_LAUNCHES);
  gr_status s = open_call(c, &g, out);
  return gr_arena_end(work, s);
}

static gr_status resolve(const gr_step *step, CUfunction *f) {
  // More than 48 kB of shared memory must be asked for, with what the text declares.
  CU_TRY(cuModuleGetFunction(f, step->kernel.unit->module, step->kernel.entry));
  if (step->kernel.shared)
    CU_TRY(cuFuncSetAttribute(*f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              (int)step->kernel.shared));
  return GR_OK;
}

gr_status gr_cuda_ready(gr_device *d) {
  gr_cuda *c = gr_cuda_of(d);
  GR_TRY(gr_units_build(c));
  GR_TRY(gr_cuda_loop_ready(c));
  CU_TRY(cuStreamSynchronize(c->stream[GR_QUEUE_TRANSFER]));  // tables of joined kernels
  for (; c->pending; c->pending = c->pending->kernel.next_pending) {
    gr_unit *u = c->pending->kernel.unit;
    GR_TRY(gr_note(resolve(c->pending, &c->pending->kernel.function), u->loc,
                   "in kernel '%s' of op '%s'", c->pending->kernel.entry, u->op->name));
  }
  return gr_cuda_taken(c, GR_TAKER_KERNELS);
}

// ---- Running ------------------------------------------------------------------------------------

gr_status gr_step_launch(gr_cuda *c, const gr_step *s, void **args) {
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  if (s->kernel.cooperative)
    CU_TRY(cuLaunchCooperativeKernel(s->kernel.function, s->kernel.blocks, 1, 1, s->kernel.threads,
                                     1, 1, s->kernel.shared, stream, args));
  else
    CU_TRY(cuLaunchKernel(s->kernel.function, s->kernel.blocks, 1, 1, s->kernel.threads, 1, 1,
                          s->kernel.shared, stream, args, NULL));
  return GR_OK;
}

static gr_status run_kernel(gr_cuda *c, gr_step *s, const gr_launch *l, bool scratch) {
  void *args[2 * GR_MAX_ARGS + 1 + GR_GPU_NUMBERS];
  int n = 0;
  for (int i = 0; i < l->n_in; i++) args[n++] = (void *)&l->in[i];
  for (int i = 0; i < l->n_out; i++) args[n++] = (void *)&l->out[i];
  if (scratch) args[n++] = (void *)&l->scratch;
  for (int i = 0; i < s->kernel.n_numbers; i++) {
    gr_gpu_number *number = &s->kernel.number[i];
    args[n++] = number->real ? (void *)&number->r : (void *)&number->i;
  }
  return gr_step_launch(c, s, args);
}

static gr_status run_copy(gr_cuda *c, const gr_gpu_copy *copy, const gr_launch *l) {
  CUdeviceptr to = gr_ref_address(copy->target, l), source = gr_ref_address(copy->source, l);
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  if (copy->source.space == GR_GPU_NOTHING)
    CU_TRY(cuMemsetD8Async(to, 0, copy->bytes, stream));
  else if (to != source)
    CU_TRY(cuMemcpyAsync(to, source, copy->bytes, stream));
  return GR_OK;
}

// Runs the kernel of a part (gr_gpu_kernel.of_part).
static gr_status run_mask(gr_cuda *c, gr_step *s, const gr_gpu_attention_part *p,
                          const gr_launch *l) {
  const int64_t of[] = {p->sample, p->head, p->samples, p->heads};
  enum { N = sizeof of / sizeof *of };
  for (int i = 0; i < N; i++) s->kernel.number[s->kernel.n_numbers - N + i].i = of[i];
  c->launches++;
  return run_kernel(c, s, l, true);
}

static gr_status run_attention(gr_cuda *c, gr_step *s, const gr_launch *l) {
  gr_gpu_attention_part part = {0};
  while (gr_fused_next(s->attention.fused, &part)) {
    if (s->attention.mask) GR_TRY(run_mask(c, s->attention.mask, &part, l));
    GR_TRY(gr_fused_run(c, s->attention.fused, &part, l));
  }
  return GR_OK;
}

gr_status gr_step_run(gr_cuda *c, gr_step *s, const gr_launch *l, bool scratch) {
  c->launches++;
  switch (s->kind) {
    case GR_GPU_KERNEL:
      return run_kernel(c, s, l, scratch);
    case GR_GPU_GEMM:
      return gr_product_run(c, s->product, l);
    case GR_GPU_CONVOLUTION:
      return gr_convolution_run(c, s->convolution, l);
    case GR_GPU_ATTENTION:
      return run_attention(c, s, l);
    case GR_GPU_COPY:
      return run_copy(c, &s->copy, l);
  }
  return GR_OK;
}

static gr_status run(const gr_launch *l) {
  const gr_cuda_call *call = l->context;
  for (int i = 0; i < call->n; i++)
    if (!is_of_part(&call->step[i]))
      GR_TRY(gr_step_run(call->device, &call->step[i], l, call->scratch));
  return GR_OK;
}
