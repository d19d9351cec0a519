// repeat.c - loops whose body is put in line once: a graph that repeats it, by a conditional node
// (CUDA 12.4; declared as here by headers of CUDA 13), or, outside of a capture, the host. Kernels
// that read the number of the step from the device's memory copy what differs from step to step to
// the addresses that the body has, and from them.
#include <string.h>
#include "runtime/device/cuda/parts.h"

// Slices of one launch; at most so many blocks for each, and threads of a block.
enum { SLICES = 16, MAX_PARTS = 32, THREADS = 256 };

GR_CU(repeat);

typedef struct slices {  // as in the text
  gr_device_slice slice[SLICES];
} slices;
_Static_assert(sizeof(gr_device_slice) == 40, "device code has the same structure");

gr_status gr_cuda_loop_open(gr_device *d, const gr_op_call *call) {
  gr_cuda *c = gr_cuda_of(d);
  if (c->loop.unit) return GR_OK;
  for (int i = 0; i < GR_CUDA_LOOPS; i++)
    CU_TRY(cuStreamCreate(&c->loop.stream[i], CU_STREAM_NON_BLOCKING));
  return gr_unit_add(c, gr_cu_repeat, call, &c->loop.unit);
}

void gr_cuda_loop_close(gr_cuda *c) {
  for (int i = 0; i < GR_CUDA_LOOPS; i++)
    if (c->loop.stream[i]) gr_cu.cuStreamDestroy(c->loop.stream[i]);
}

gr_status gr_cuda_loop_ready(gr_cuda *c) {
  if (!c->loop.unit || c->loop.copy) return GR_OK;
  CU_TRY(cuModuleGetFunction(&c->loop.copy, c->loop.unit->module, "loop_copy"));
  CU_TRY(cuModuleGetFunction(&c->loop.next, c->loop.unit->module, "loop_next"));
  CU_TRY(cuModuleGetFunction(&c->loop.end, c->loop.unit->module, "loop_end"));
  return GR_OK;
}

// ---- A step ------------------------------------------------------------------------------------

static gr_status copy(gr_cuda *c, const gr_device_loop *l, int when) {
  for (int i = 0; i < l->n[when]; i += SLICES) {
    int n = l->n[when] - i < SLICES ? l->n[when] - i : SLICES;
    slices s = {0};
    memcpy(s.slice, l->slice[when] + i, sizeof *s.slice * (size_t)n);
    long long parts = 1;
    for (int k = 0; k < n; k++)
      while (parts < MAX_PARTS && s.slice[k].bytes > (size_t)parts * THREADS * 16) parts *= 2;
    void *args[] = {&s, &parts, (void *)&l->counter};
    c->launches++;
    CU_TRY(cuLaunchKernel(c->loop.copy, (unsigned)(n * parts), 1, 1, THREADS, 1, 1, 0,
                          c->stream[GR_QUEUE_COMPUTE], args, NULL));
  }
  return GR_OK;
}

static gr_status run_step(gr_cuda *c, const gr_device_loop *l) {
  GR_TRY(copy(c, l, GR_LOOP_BEFORE));
  GR_TRY(l->body(l->arg));
  GR_TRY(copy(c, l, GR_LOOP_AFTER));
  return copy(c, l, GR_LOOP_CARRIES);
}

static gr_status launch_one(gr_cuda *c, CUfunction f, void **args) {
  c->launches++;
  CU_TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, c->stream[GR_QUEUE_COMPUTE], args, NULL));
  return GR_OK;
}

static gr_status run_steps(gr_cuda *c, const gr_device_loop *l) {
  for (int64_t step = 0; step < l->steps; step++) {
    GR_TRY(run_step(c, l));
    GR_TRY(launch_one(c, c->loop.next, (void *[]){(void *)&l->counter}));
  }
  return GR_OK;
}

// ---- A node that repeats -----------------------------------------------------------------------

#if CUDA_VERSION >= 13000
// Adds the node behind what was captured so far, and gives the graph of its body.
static gr_status add_node(gr_cuda *c, CUgraphConditionalHandle *handle, CUgraph *out) {
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  CUstreamCaptureStatus status;
  CUgraph graph = NULL;
  CUgraphNode node;
  const CUgraphNode *after = NULL;
  size_t n = 0;
  CU_TRY(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, NULL, &n));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a loop is not being captured");
  CU_TRY(
      cuGraphConditionalHandleCreate(handle, graph, c->context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
  params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
      .handle = *handle, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1, .ctx = c->context};
  CU_TRY(cuGraphAddNode(&node, graph, after, NULL, n, &params));
  CU_TRY(cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  *out = params.conditional.phGraph_out[0];
  return GR_OK;
}

static gr_status capture_body(gr_cuda *c, const gr_device_loop *l,
                              CUgraphConditionalHandle handle) {
  unsigned long long loop = handle;
  GR_TRY(run_step(c, l));
  void *args[] = {(void *)&l->counter, (void *)&l->steps,   &loop,
                  (void *)&l->flags,   (void *)&l->n_flags, (void *)&l->flag_bytes};
  return launch_one(c, c->loop.end, args);
}

// Puts what comes next in line there: all kernels, and what libraries do.
static gr_status use_stream(gr_cuda *c, CUstream stream) {
  c->stream[GR_QUEUE_COMPUTE] = stream;
#if GR_HAVE_CUDNN
  if (c->dnn) DNN_TRY(cudnnSetStream(c->dnn, (cudaStream_t)stream));
#endif
  return GR_OK;
}

static gr_status repeat(gr_cuda *c, const gr_device_loop *l) {
  CUgraphConditionalHandle handle;
  CUgraph body = NULL;
  CUstream outer = c->stream[GR_QUEUE_COMPUTE], inner = c->loop.stream[c->loop.depth];
  GR_TRY(add_node(c, &handle, &body));
  CU_TRY(
      cuStreamBeginCaptureToGraph(inner, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  c->loop.depth++;
  gr_status s = use_stream(c, inner);
  if (!s) s = capture_body(c, l, handle);
  gr_status restored = use_stream(c, outer);
  c->loop.depth--;
  if (s)
    gr_status_drop(restored);
  else
    s = restored;
  CUresult r = gr_cu.cuStreamEndCapture(inner, &body);
  if (!s && r) s = gr_driver_failed(r, "cuStreamEndCapture");
  return s;
}
#endif

gr_status gr_cuda_loop(gr_device *d, const gr_device_loop *l) {
  gr_cuda *c = gr_cuda_of(d);
  CU_TRY(cuMemsetD8Async((CUdeviceptr)l->counter, 0, 8, c->stream[GR_QUEUE_COMPUTE]));
#if CUDA_VERSION >= 13000
  if (c->loop.depth < GR_CUDA_LOOPS) {
    if (c->capturing) return repeat(c, l);
    uint64_t before = c->launches;
    GR_TRY(run_steps(c, l));
    c->launches = before + (c->launches - before) / (uint64_t)l->steps;  // as many as are captured
    return GR_OK;
  }
#endif
  return run_steps(c, l);
}
