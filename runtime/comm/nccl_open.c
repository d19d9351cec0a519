// nccl_open.c - the communicator of NCCL: opening and closing it. See nccl.h. Module "nccl".
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/comm/nccl.h"
#include "runtime/comm/nccl_parts.h"

static const double close_s = 10;  // seconds that closing may take

static int version;

enum { LEAST_VERSION = 21400 };  // communicators that are opened without blocking

gr_nccl_library gr_nccl;

// ---- The library --------------------------------------------------------------------------------

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static gr_status load_library(void) {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  const char *missing = NULL;
  if (!library)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NCCL cannot be loaded: %s", dlerror()),
                   "install libnccl2 (NVIDIA's package repository, or the Python package "
                   "nvidia-nccl-cu13) and put its folder into LD_LIBRARY_PATH; one GPU needs none");
#define GR_NCCL(name)                              \
  {                                                \
    void *symbol = dlsym(library, #name);          \
    memcpy(&gr_nccl.name, &symbol, sizeof symbol); \
    if (!symbol) missing = #name;                  \
  }
#include "runtime/comm/nccl.def"
  if (!missing && !gr_nccl.ncclGetVersion(&version) && version >= LEAST_VERSION) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the installed NCCL is too old: %s%s",
                         missing ? "it has no " : "version 2.14 is needed", missing ? missing : ""),
                 "install a newer libnccl2");
}

static gr_status load(void) {
  static bool loaded;
  pthread_mutex_lock(&loading);
  gr_status s = loaded ? GR_OK : load_library();
  loaded = !s;
  pthread_mutex_unlock(&loading);
  return s;
}

// ---- The communicator ---------------------------------------------------------------------------

static gr_status check(gr_comm *base) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  return c->host->ops->check(c->host);
}

static void abort_all(gr_comm *base, const char *why) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  c->host->ops->abort(c->host, why);
  gr_nccl_end(c);
}

static gr_status copy_rows(gr_comm *base, void *to, size_t to_stride, const void *source,
                           size_t from_stride, size_t width, size_t rows) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  return c->cuda->copy_rows(c->device, c->queue, to, to_stride, source, from_stride, width, rows);
}

static gr_status clear(gr_comm *base, void *memory, size_t bytes) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  return c->cuda->clear(c->device, c->queue, memory, bytes);
}

// Removes a communicator from those that its device asks.
static void unwatch(gr_nccl_comm *c) {
  gr_nccl_comm *first = c->cuda->watched(c->device), **link = &first;
  while (*link && *link != c) link = &(*link)->next;
  if (*link) *link = c->next;
  c->cuda->watch(c->device, first ? gr_nccl_check_all : NULL, first);
}

// Finalising waits for what is in line, which a dead peer would keep there.
static void close_comm(gr_comm *base) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  if (!c) return;
  unwatch(c);
  if (!c->ended && c->comm) {
    double until = gr_seconds() + close_s;
    ncclResult_t r = gr_nccl.ncclCommFinalize(c->comm);
    while (r == ncclInProgress && gr_seconds() < until) {
      gr_nccl_pause(0.0005);
      if (gr_nccl.ncclCommGetAsyncError(c->comm, &r) != ncclSuccess) break;
    }
    if (r == ncclSuccess) {
      gr_nccl.ncclCommDestroy(c->comm);
    } else {
      gr_log(GR_WARN, "NCCL did not close a communicator within %g s (%s): it is aborted", close_s,
             gr_nccl.ncclGetErrorString(r));
      gr_nccl_end(c);
    }
  }
  free(c);
}

static gr_status split(gr_comm *c, int colour, int key, gr_comm **out) {
  (void)c, (void)colour, (void)key, *out = NULL;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "communicators of GPUs are split on the host");
}

static gr_status alloc_shared(gr_comm *c, size_t bytes, void **out) {
  (void)c, (void)bytes, *out = NULL;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the memory of GPUs belongs to their devices");
}

static const gr_comm_vtable vtable = {.backend = "nccl",
                                      .run = gr_nccl_run,
                                      .split = split,
                                      .alloc_shared = alloc_shared,
                                      .check = check,
                                      .abort = abort_all,
                                      .close = close_comm,
                                      .copy_rows = copy_rows,
                                      .clear = clear};

// ---- Opening ------------------------------------------------------------------------------------

// Rank 0 makes the id; the first byte says whether it could.
static gr_status share_id(gr_nccl_comm *c, ncclUniqueId *id) {
  char sent_id[1 + sizeof *id] = {0}, got[1 + sizeof *id];
  gr_status s = GR_OK;
  if (c->host->rank == 0) {
    ncclResult_t r = gr_nccl.ncclGetUniqueId(id);
    if (r != ncclSuccess)
      s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NCCL fails: ncclGetUniqueId returns '%s': %s",
                  gr_nccl.ncclGetErrorString(r), gr_nccl.ncclGetLastError(NULL));
    sent_id[0] = r == ncclSuccess;
    memcpy(sent_id + 1, id, sizeof *id);
  }
  gr_status sent = gr_comm_run(c->host, GR_BROADCAST, GR_U8, sizeof sent_id, sent_id, got);
  if (s || sent) return gr_also(s, sent);
  if (!got[0]) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not start NCCL");
  memcpy(id, got + 1, sizeof *id);
  return GR_OK;
}

static gr_status connect(gr_nccl_comm *c) {
  ncclUniqueId id;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  memset(&id, 0, sizeof id);
  GR_TRY(share_id(c, &id));
  GR_TRY(c->cuda->use(c->device));
  GR_NCCL_TRY(c, ncclCommInitRankConfig(&c->comm, c->host->ranks, id, c->host->rank, &config));
  return gr_nccl_settle(c, "connecting");
}

static gr_status open(gr_device *d, gr_queue q, gr_comm *host, double timeout_s, gr_comm **out) {
  *out = NULL;
  gr_nccl_comm *c = calloc(1, sizeof *c);
  if (!c) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  *c = (gr_nccl_comm){.base = *host, .host = host, .device = d, .queue = q, .timeout_s = timeout_s};
  c->base.ops = &vtable;
  gr_status s = gr_cuda_module_open(&c->cuda);
  s = s ? s : connect(c);
  if (s) {
    gr_nccl_end(c);
    free(c);
    return s;
  }
  c->next = c->cuda->watched(d);
  c->cuda->watch(d, gr_nccl_check_all, c);
  *out = &c->base;
  return GR_OK;
}

static int version_of(void) { return version; }

extern const gr_nccl_module gr_module;
const gr_nccl_module gr_module = {load, version_of, open};
