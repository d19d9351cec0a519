// context.c - the stand-in driver: starting, devices and contexts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include "tests/gpu/standin/driver.h"

static void *self_symbol(const char *name) {
  static const char *const suffix[] = {"_v4", "_v3", "_v2", ""};
  char full[128];
  Dl_info me;
  dladdr((void *)self_symbol, &me);
  void *so = dlopen(me.dli_fname, RTLD_LAZY | RTLD_NOLOAD), *p = NULL;
  for (int i = 0; i < 4 && !p; i++)
    snprintf(full, sizeof full, "%s%s", name, suffix[i]), p = dlsym(so, full);
  return p;
}
CUresult cuGetProcAddress(const char *symbol, void **p, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *r) {
  (void)version, (void)flags;
  *p = self_symbol(symbol);
  if (r) *r = *p ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *p ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// The real NVRTC asks for it (and crashes where it is missing) as soon as it finds a libcuda.
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  return (void)id, *table = NULL, CUDA_ERROR_NOT_FOUND;
}

static double env(const char *name, double or) {
  const char *e = getenv(name);
  return e && *e ? atof(e) : or ;
}
// Those that CUDA_VISIBLE_DEVICES lists, if it is set, up to one that is not there.
static int visible(int there) {
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  int n = 0;
  for (; !list && n < there && n < MAX_DEVICES; n++) devices[n].physical = n;
  for (const char *c = list; c && *c && n < MAX_DEVICES; c += strcspn(c, ","), c += *c == ',') {
    if (atoi(c) < 0 || atoi(c) >= there) break;
    devices[n++].physical = atoi(c);
  }
  return n;
}
int standin_physical(int device) { return devices[device].physical; }
// A GPU of few processors, so that blocks need not be many, or one that exists.
struct sizes sizes = {"Stand-in GPU", 90, 4, 228 << 10, 227 << 10, 50 << 20, 2048, 32};
static void choose_sizes(void) {
  static const struct sizes known[] = {
#define GPU(name, sm, processors, sm_kb, block_kb, cache_mb, threads, blocks) \
  {name, sm, processors, (sm_kb) << 10, (block_kb) << 10, (cache_mb) << 20, threads, blocks},
#include "tests/gpu/gpus.def"
  };
  const char *name = getenv("STANDIN_GPU");
  int found = !name || !*name;
  for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].name, name)) sizes = known[i], found = 1;
  if (!found) standin_say("STANDIN_GPU=%s: there is no such GPU in gpus.def", name), abort();
  sizes.sm = (int)env("STANDIN_SM", sizes.sm);
}
CUresult cuInit(unsigned flags) {
  (void)flags;
  API;
  if (inited) return CUDA_SUCCESS;
  int code = (int)env("STANDIN_INIT", 0);
  if (code) return (CUresult)code;
  uint64_t seed = (uint64_t)env("STANDIN_SEED", 0);
  plain = seed == 0;
  choose_sizes();
  limit_s = env("STANDIN_TIMEOUT", 0);
  eager = (int[]){0, 8, 3, 2}[seed % 4];  // how willingly work starts before somebody waits
  ndevices = visible((int)env("STANDIN_GPUS", 2));
  if (ndevices <= 0) return ndevices = 0, CUDA_ERROR_NO_DEVICE;
  for (int i = 0; i < ndevices; i++) {
    struct device *d = &devices[i];
    d->ordinal = i, d->ctx = (struct CUctx_st){CTX, d},
    d->legacy = (struct CUstream_st){.magic = STREAM, .dev = d};
    d->rng = (seed * 0x9e3779b97f4a7c15u) ^ ((uint64_t)i + 1) * 0xbf58476d1ce4e5b9u;
    d->total = (size_t)env("STANDIN_MEM_MB", 1024) << 20;
    d->next = mmap(NULL, ADDRESSES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    d->end = d->next + ADDRESSES;
    if (d->next == MAP_FAILED)
      FAIL(CUDA_ERROR_OUT_OF_MEMORY, "no address range: %s", strerror(errno));
    madvise(d->next, ADDRESSES, MADV_HUGEPAGE);  // each is opened and closed by one entry, not 512
  }
  si_guard((int)env("STANDIN_GUARD", 1));
  si_catch_faults();
  pthread_t t;
  if (!pthread_create(&t, NULL, si_background, NULL)) pthread_detach(t);
  inited = 1;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *v) {
  return *v = (int)env("STANDIN_DRIVER", CUDA_VERSION), CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *n) {
  return *n = ndevices, inited ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult cuDeviceGet(CUdevice *d, int i) {
  return *d = i, i >= 0 && i < ndevices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char *name, int len, CUdevice d) {
  return snprintf(name, (size_t)len, "%s %d", sizes.name, d), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *n, CUdevice d) { return *n = devices[d].total, CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d) {
  return memset(u, devices[d].physical + 1, sizeof *u), CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *s, int len, CUdevice d) {
  return snprintf(s, (size_t)len, "0000:%02x:00.0", d + 1), CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  return *can = a != b, CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice dev) {
  if (dev < 0 || dev >= ndevices) return CUDA_ERROR_INVALID_DEVICE;
#define IS(name, value)            \
  case CU_DEVICE_ATTRIBUTE_##name: \
    return *v = (value), CUDA_SUCCESS;
  switch (a) {
    IS(MAX_THREADS_PER_BLOCK, 1024)
    IS(MAX_BLOCK_DIM_X, 1024)
    IS(MAX_BLOCK_DIM_Y, 1024)
    IS(MAX_BLOCK_DIM_Z, 64)
    IS(MAX_GRID_DIM_X, 2147483647)
    IS(MAX_GRID_DIM_Y, 65535)
    IS(MAX_GRID_DIM_Z, 65535)
    IS(WARP_SIZE, 32) IS(MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10)
        IS(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sizes.block_smem)
            IS(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sizes.sm_smem) IS(
                RESERVED_SHARED_MEMORY_PER_BLOCK, 1024) IS(MULTIPROCESSOR_COUNT, sizes.processors)
                IS(MAX_THREADS_PER_MULTIPROCESSOR, sizes.sm_threads)
                    IS(MAX_BLOCKS_PER_MULTIPROCESSOR, sizes.sm_blocks) IS(
                        MAX_REGISTERS_PER_BLOCK, 65536) IS(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)
                        IS(L2_CACHE_SIZE, sizes.cache) IS(COMPUTE_CAPABILITY_MAJOR, sizes.sm / 10)
                            IS(COMPUTE_CAPABILITY_MINOR, sizes.sm % 10) IS(COOPERATIVE_LAUNCH, 1)
                                IS(UNIFIED_ADDRESSING, 1) IS(ASYNC_ENGINE_COUNT, 2)
                                    IS(CONCURRENT_KERNELS, 1) IS(CLOCK_RATE, 1000000)
                                        IS(PCI_BUS_ID, dev + 1) IS(PCI_DEVICE_ID, 0) IS(
                                            PCI_DOMAIN_ID, 0) IS(STREAM_PRIORITIES_SUPPORTED, 1)
                                            IS(MEMORY_POOLS_SUPPORTED, 0) IS(MANAGED_MEMORY, 0)
                                                IS(GLOBAL_MEMORY_BUS_WIDTH, 5120)
                                                    IS(CLUSTER_LAUNCH, 0) IS(CAN_MAP_HOST_MEMORY, 1)
                                                        IS(COMPUTE_MODE, 0) IS(INTEGRATED, 0)
                                                            IS(TEXTURE_ALIGNMENT, 512)
                                                                IS(ECC_ENABLED, 1) default
        : FAIL(CUDA_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: attribute %d is not stood in for",
               a);
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice dev) {
  API;
  if (dev < 0 || dev >= ndevices) return CUDA_ERROR_INVALID_DEVICE;
  devices[dev].retained++;
  return *c = &devices[dev].ctx, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags) {
  return (void)dev, (void)flags, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  API;
  struct device *d = &devices[dev];
  if (--d->retained) return CUDA_SUCCESS;
  si_drain(d, NULL);
  int n = 0, pinned = 0, ngraph = 0;
  size_t bytes = 0;
  for (int i = 0; i < nblocks; i++)
    if (blocks[i].dev == d && blocks[i].live) n++, bytes += blocks[i].n;
  for (int i = 0; i < nblocks; i++)
    pinned += !blocks[i].dev && blocks[i].owner == d && blocks[i].live;
  for (int i = 0; i < ngraphs; i++) ngraph += graphs[i]->origin->dev == d;
  int left = n + pinned + ngraph + d->nevents + d->nstreams + d->nexecs + d->nmodules;
  if ((!left && d->used == bytes) || d->error) return CUDA_SUCCESS;
  standin_say(
      "device %d: context released with %d allocations (%zu bytes), %zu bytes of communicators, "
      "%d of pinned memory, "
      "%d events, %d streams, %d graphs, %d executable graphs and %d modules alive",
      dev, n, bytes, d->used - bytes, pinned, d->nevents, d->nstreams, ngraph, d->nexecs,
      d->nmodules);
  abort();
}
CUresult cuCtxSetCurrent(CUcontext c) {
  if (c) NEED(c, CTX);
  if (depth < 0) depth = 0;
  return stack[depth] = c, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *c) { return *c = si_current(), CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext c) {
  NEED(c, CTX);
  if (depth == 7) return CUDA_ERROR_INVALID_VALUE;
  return stack[++depth] = c, CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *c) {
  if (depth < 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (c) *c = stack[depth];
  return depth--, CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *dev) {
  NEED_CTX(d);
  return *dev = d->ordinal, CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
  API;
  NEED_CTX(d);
  NOT_IN_CAPTURE;
  return si_drain(d, NULL);
}
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return *least = 0, *greatest = -5, CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  API;
  NEED_CTX(d);
  NEED(peer, CTX);
  if (d->peers >> peer->dev->ordinal & 1) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return (void)flags, d->peers |= 1u << peer->dev->ordinal, CUDA_SUCCESS;
}

#define NAMES(X)                                                                              \
  X(SUCCESS)                                                                                  \
  X(ERROR_INVALID_VALUE)                                                                      \
  X(ERROR_OUT_OF_MEMORY)                                                                      \
  X(ERROR_NOT_INITIALIZED)                                                                    \
  X(ERROR_NO_DEVICE)                                                                          \
  X(ERROR_INVALID_DEVICE)                                                                     \
  X(ERROR_INVALID_CONTEXT)                                                                    \
  X(ERROR_INVALID_HANDLE) X(ERROR_NOT_FOUND) X(ERROR_NOT_READY) X(ERROR_ILLEGAL_ADDRESS)      \
      X(ERROR_MISALIGNED_ADDRESS) X(ERROR_LAUNCH_OUT_OF_RESOURCES) X(ERROR_LAUNCH_FAILED)     \
          X(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) X(ERROR_NOT_SUPPORTED) X(ERROR_INVALID_IMAGE) \
              X(ERROR_NO_BINARY_FOR_GPU) X(ERROR_STREAM_CAPTURE_UNSUPPORTED)                  \
                  X(ERROR_STREAM_CAPTURE_INVALIDATED) X(ERROR_STREAM_CAPTURE_UNJOINED)        \
                      X(ERROR_STREAM_CAPTURE_ISOLATION) X(ERROR_STREAM_CAPTURE_IMPLICIT)
CUresult cuGetErrorName(CUresult e, const char **text) {
#define NAME(n) \
  if (e == CUDA_##n) return *text = "CUDA_" #n, CUDA_SUCCESS;
  NAMES(NAME)
  return *text = "CUDA_ERROR_?", CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult e, const char **text) { return cuGetErrorName(e, text); }
