// open.c - the CUDA device: opening and closing, memory, queues and events. See
// runtime/device/device.h.
//
// It is a primary context with a non-blocking stream for each queue. Errors of work that was put
// in line show where the host waits for it.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/device/cuda/parts.h"

extern const gr_device_ops gr_cuda_ops;

static const double close_s = 20;  // that work in line may take when a device is closed

// ---- Opening ----------------------------------------------------------------------------------

static gr_status choose(const gr_device_options *o, int *out) {
  int n = 0;
  CU_TRY(cuDeviceGetCount(&n));
  if (!n)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "there is no GPU that this process may use"),
        "`nvidia-smi` lists them, CUDA_VISIBLE_DEVICES hides some; device=cpu needs none");
  int rank = o->local_rank;
  if (o->n_ids && rank >= o->n_ids)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                           "distributed.gpu_ids names %d GPU%s, which this machine's ranks before "
                           "rank %d have",
                           o->n_ids, gr_text_s(o->n_ids), o->rank),
                   "name one for each rank, or use fewer ranks");
  // A launcher may show each task its own GPU alone. Whether ranks share one is found when the
  // executor compares the ids of their devices.
  *out = o->n_ids ? o->ids[rank] : n == 1 ? 0 : rank;
  if (*out < n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "rank %d is for GPU %d of this machine, which has %d that it may use",
                         o->rank, *out, n),
                 "use fewer ranks (distributed.ranks), or name GPUs from 0 to %d in "
                 "distributed.gpu_ids; CUDA_VISIBLE_DEVICES hides some",
                 n - 1);
}

static gr_status read_device(gr_cuda *c) {
  int major = 0, minor = 0;
  CUuuid id;
  _Static_assert(sizeof id == GR_DEVICE_ID, "an id is a UUID");
  CU_TRY(cuDeviceGet(&c->device, c->index));
  CU_TRY(cuDeviceGetName(c->name, sizeof c->name, c->device));
  CU_TRY(cuDeviceGetUuid(&id, c->device));
  memcpy(c->base.id, &id, sizeof id);
  CU_TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device));
  CU_TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, c->device));
  CU_TRY(cuDeviceGetAttribute(&c->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, c->device));
  CU_TRY(cuDeviceGetAttribute(&c->shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                              c->device));
  c->arch = major * 10 + minor;
  if (c->arch >= 70) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "GPU %d (%s) has compute capability %d.%d; 7.0 or newer is needed", c->index, c->name,
              major, minor),
      "choose another by distributed.gpu_ids or CUDA_VISIBLE_DEVICES; device=cpu needs none");
}

// What is free, with the working memory that has been allocated: before there is any, and again
// when communicators are open.
static gr_status measure(gr_device *d) {
  gr_cuda *c = gr_cuda_of(d);
  GR_TRY(gr_cuda_taken(c, c->workspace ? GR_TAKER_NCCL : GR_TAKER_CUBLASLT));
  d->limits.bytes = c->left + (c->workspace ? GR_CUDA_WORKSPACE : 0);
  return GR_OK;
}

static gr_status open_all(gr_cuda *c, const gr_device_options *o) {
  GR_TRY(gr_driver_open());
  GR_TRY(gr_nvrtc_open());
  GR_TRY(gr_cublaslt_open());
  GR_TRY(choose(o, &c->index));
  c->base.limits.timings = gr_cuda_times_open(c, o);  // best before there is a context
  GR_TRY(read_device(c));
  CU_TRY(cuDevicePrimaryCtxRetain(&c->context, c->device));
  CU_TRY(cuCtxSetCurrent(c->context));
  for (int q = 0; q < GR_QUEUE_COUNT; q++)
    CU_TRY(cuStreamCreate(&c->stream[q], CU_STREAM_NON_BLOCKING));
  for (int e = 0; e < GR_EVENT_COUNT; e++)
    CU_TRY(cuEventCreate(&c->event[e], CU_EVENT_DISABLE_TIMING));
  GR_TRY(gr_staging_open(&c->staging, GR_QUEUE_TRANSFER, GR_STAGING_SLOTS, GR_STAGING_BYTES));
  if (o->ahead) GR_TRY(gr_staging_open(&c->ahead, GR_QUEUE_AHEAD, 2, o->ahead));
  GR_TRY(gr_cuda_taken(c, GR_TAKER_PLAN));
  LT_TRY(cublasLtCreate(&c->lt));
  GR_TRY(measure(&c->base));
  CU_TRY(cuMemAlloc(&c->workspace, GR_CUDA_WORKSPACE));
  GR_TRY(gr_cuda_taken(c, GR_TAKER_PLAN));
  GR_TRY(gr_units_open(c));
  GR_TRY(gr_products_probe(c));
  return gr_cuda_taken(c, GR_TAKER_CUBLASLT);
}

// Waits until all work is done. False: a collective whose peers are gone cannot be ended.
static bool drain(const gr_cuda *c) {
  const struct timespec pause = {.tv_nsec = 1000000};
  double until = gr_seconds() + close_s;
  for (int q = 0; q < GR_QUEUE_COUNT; q++)
    while (c->stream[q] && gr_cu.cuStreamQuery(c->stream[q]) == CUDA_ERROR_NOT_READY) {
      if (gr_seconds() > until) return false;
      nanosleep(&pause, NULL);
    }
  return true;
}

static void forget(gr_device *d) { gr_captured_close(gr_cuda_of(d)); }

static void close(gr_device *d) {
  gr_cuda *c = gr_cuda_of(d);
  if (c->context) gr_cu.cuCtxSetCurrent(c->context);
  if (!drain(c)) return;  // the process is about to end with an error, and releases everything
  gr_cuda_times_close(c);
  gr_captured_close(c);
  gr_cuda_loop_close(c);
  gr_products_close(c);
  gr_fused_close(c);
  gr_convolutions_close(c);
  gr_tables_close(c);
  gr_units_close(c);
  if (c->workspace) gr_cu.cuMemFree(c->workspace);
  if (c->lt) gr_lt.cublasLtDestroy(c->lt);
  gr_staging_close(&c->staging);
  gr_staging_close(&c->ahead);
  for (int e = 0; e < GR_EVENT_COUNT; e++)
    if (c->event[e]) gr_cu.cuEventDestroy(c->event[e]);
  for (int q = 0; q < GR_QUEUE_COUNT; q++)
    if (c->stream[q]) gr_cu.cuStreamDestroy(c->stream[q]);
  if (c->context) gr_cu.cuDevicePrimaryCtxRelease(c->device);
  gr_arena_destroy(c->arena);
  free(c);
}

static gr_status open(const gr_device_options *o, gr_device **out) {
  const char *graphs = getenv("GRAPHRUN_CUDA_GRAPH");
  *out = NULL;
  gr_cuda *c = calloc(1, sizeof *c);
  if (!c) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a device");
  *c = (gr_cuda){
      .base = {.ops = &gr_cuda_ops,
               .limits = {.marks = gr_nvtx_wanted(), .beside = o->ranks > 1 && !o->in_line}},
      .arena = gr_arena_create(),
      .graphs = !graphs || strcmp(graphs, "0"),
      .tf32 = o->tf32};
  gr_status s = open_all(c, o);
  if (s)
    close(&c->base);
  else
    *out = &c->base;
  return s;
}

// ---- Memory -----------------------------------------------------------------------------------

enum { LINE = 256 };  // what is allocated together begins as cuMemAlloc's own blocks do

static gr_status clear(gr_cuda *c, CUdeviceptr memory, size_t bytes) {
  CU_TRY(cuMemsetD8Async(memory, 0, bytes, c->stream[GR_QUEUE_COMPUTE]));
  CU_TRY(cuStreamSynchronize(c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

// Collectives take any address of the device, so that a block is never shared.
static gr_status allocate(gr_device *d, size_t bytes, gr_comm *shared, gr_device_block *out) {
  (void)shared;
  size_t lines = bytes / LINE + 1;
  CUdeviceptr memory = 0;
  *out = (gr_device_block){.bytes = bytes};
  GR_TRY(gr_cuda_taken(gr_cuda_of(d), GR_TAKER_KERNELS));
  CU_TRY(cuMemAlloc(&memory, lines * LINE));
  gr_status s = gr_cuda_taken(gr_cuda_of(d), GR_TAKER_PLAN);
  s = s ? s : clear(gr_cuda_of(d), memory, lines * LINE);
  if (s)
    gr_cu.cuMemFree(memory);
  else
    out->address = (void *)memory;
  return s;
}

// With unified addressing, which all devices from compute capability 7.0 on have on 64-bit systems,
// kernels use the host's address.
static gr_status allocate_host(gr_device *d, size_t bytes, gr_device_block *out) {
  (void)d;
  *out = (gr_device_block){.bytes = bytes, .host = true};
  CU_TRY(cuMemHostAlloc(&out->address, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
  memset(out->address, 0, bytes);
  return GR_OK;
}

static void release(gr_device *d, gr_device_block *b) {
  (void)d;
  if (b->host)
    gr_cu.cuMemFreeHost(b->address);
  else
    gr_cu.cuMemFree((CUdeviceptr)b->address);
  b->address = NULL;
}

static gr_status upload(gr_device *d, void *to, const void *source, size_t bytes) {
  gr_cuda *c = gr_cuda_of(d);
  return gr_staging_upload(c, &c->staging, (CUdeviceptr)to, source, bytes);
}

static gr_status upload_ahead(gr_device *d, void *to, const void *source, size_t bytes) {
  gr_cuda *c = gr_cuda_of(d);
  return gr_staging_upload(c, &c->ahead, (CUdeviceptr)to, source, bytes);
}

static gr_status download(gr_device *d, void *to, const void *source, size_t bytes) {
  return gr_staging_download(gr_cuda_of(d), to, (CUdeviceptr)source, bytes);
}

// Also to and from states in host memory.
static gr_status copy(gr_device *d, void *to, const void *source, size_t bytes) {
  gr_cuda *c = gr_cuda_of(d);
  c->launches++;
  CU_TRY(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)source, bytes, c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

static gr_status fill(gr_device *d, void *to, int byte, size_t bytes) {
  gr_cuda *c = gr_cuda_of(d);
  c->launches++;
  CU_TRY(cuMemsetD8Async((CUdeviceptr)to, (unsigned char)byte, bytes, c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

// ---- Order --------------------------------------------------------------------------------------

static gr_status record(gr_device *d, gr_queue q, gr_device_event e) {
  gr_cuda *c = gr_cuda_of(d);
  CU_TRY(cuEventRecord(c->event[e], c->stream[q]));
  return e == GR_EVENT_AHEAD ? gr_staging_turn(c, &c->ahead) : GR_OK;
}

static gr_status wait(gr_device *d, gr_queue q, gr_device_event e) {
  CU_TRY(cuStreamWaitEvent(gr_cuda_of(d)->stream[q], gr_cuda_of(d)->event[e], 0));
  return GR_OK;
}

static gr_status synchronise(gr_device *d, gr_queue q) {
  gr_cuda *c = gr_cuda_of(d);
  GR_TRY(gr_cuda_wait_queue(c, q));
  if (q == GR_QUEUE_TRANSFER) gr_staging_land(c);
  return GR_OK;
}

// ---- What communicators ask for -----------------------------------------------------------------

static void *stream(gr_device *d, gr_queue q) { return gr_cuda_of(d)->stream[q]; }
static int index_of(gr_device *d) { return gr_cuda_of(d)->index; }
static gr_status use(gr_device *d) {
  CU_TRY(cuCtxSetCurrent(gr_cuda_of(d)->context));
  return GR_OK;
}
static void watch(gr_device *d, gr_status (*check)(void *, double), void *arg) {
  gr_cuda_of(d)->watch = check, gr_cuda_of(d)->watch_arg = arg;
}
static void *watched(gr_device *d) { return gr_cuda_of(d)->watch_arg; }
static gr_status copy_rows(gr_device *d, gr_queue q, void *to, size_t to_stride, const void *source,
                           size_t from_stride, size_t width, size_t rows) {
  gr_cuda *c = gr_cuda_of(d);
  CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = (CUdeviceptr)source,
                        .srcPitch = from_stride,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = (CUdeviceptr)to,
                        .dstPitch = to_stride,
                        .WidthInBytes = width,
                        .Height = rows};
  c->launches++;
  CU_TRY(cuMemcpy2DAsync(&copy, c->stream[q]));
  return GR_OK;
}
static gr_status clear_part(gr_device *d, gr_queue q, void *memory, size_t bytes) {
  gr_cuda *c = gr_cuda_of(d);
  c->launches++;
  CU_TRY(cuMemsetD8Async((CUdeviceptr)memory, 0, bytes, c->stream[q]));
  return GR_OK;
}

static gr_status links(const gr_device *d, int *linked, int *others) {
  const gr_cuda *c = (const gr_cuda *)d;
  int n = 0, reaches = 0;
  *linked = 0;
  CU_TRY(cuDeviceGetCount(&n));
  for (CUdevice other = 0; other < n; other++) {
    if (other == c->device) continue;
    CU_TRY(cuDeviceCanAccessPeer(&reaches, c->device, other));
    *linked += reaches;
  }
  *others = n - 1;
  return GR_OK;
}

static void report(const gr_device *d, gr_text *t) {
  const gr_cuda *c = (const gr_cuda *)d;
  gr_text_printf(t, "%s, compute capability %d.%d: ", c->name, c->arch / 10, c->arch % 10);
  gr_units_report(c, t);
  gr_products_report(c, t);
  gr_convolutions_report(c, t);
  gr_fused_report(c, t);
  gr_chosen_report(c, t);
  gr_captured_report(c, t);
  gr_cuda_taken_report(c, t);
}

const gr_device_ops gr_cuda_ops = {
    GR_CUDA_FIELDS,
    .open = open,
    .close = close,
    .measure = measure,
    .allocate = allocate,
    .allocate_host = allocate_host,
    .free = release,
    .upload = upload,
    .upload_ahead = upload_ahead,
    .download = download,
    .copy = copy,
    .fill = fill,
    .record = record,
    .wait = wait,
    .synchronise = synchronise,
    .kernel = gr_cuda_kernel,
    .kernels = gr_cuda_kernels,
    .agree = gr_cuda_agree,
    .ready = gr_cuda_ready,
    .tune = gr_products_tune,
    .run = gr_cuda_run,
    .forget = forget,
    .time = gr_cuda_time,
    .timed = gr_cuda_timed,
    .time_as = gr_cuda_time_as,
    .timings = gr_cuda_timings,
    .mark = gr_nvtx_mark,
    .loop_open = gr_cuda_loop_open,
    .loop = gr_cuda_loop,
    .links = links,
    .report = report,
};

extern const gr_cuda_module gr_module;
const gr_cuda_module gr_module = {open,  stream,  index_of,  use,
                                  watch, watched, copy_rows, clear_part};
