// nccl_open.c - the communicator of NCCL: opening, waiting for it, ending it. See nccl.h. Module
// "nccl".
//
// Every call of NCCL that could block is made without blocking and polled, because a peer that has
// died would make it wait forever. ncclCommAbort has no such form: a thread calls it, and after a
// while it is left alone; the process is about to end then.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/port.h"
#include "runtime/comm/nccl.h"
#include "runtime/comm/nccl_parts.h"

// Seconds: between questions to the host's communicator; that ncclCommAbort, and closing, may take;
// in which the host hears which rank has died, after NCCL has noticed that one has.
static const double check_interval_s = 0.1, abort_s = 5, close_s = 10, death_s = 3;

enum { LEAST_VERSION = 21400 };  // communicators that are opened without blocking

gr_nccl_library gr_nccl;

static void pause_for(double seconds) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

// ---- The library --------------------------------------------------------------------------------

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static gr_status load_library(void) {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  const char *missing = NULL;
  int version = 0;
  if (!library)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NCCL cannot be loaded: %s", dlerror()),
                   "install libnccl2 (NVIDIA's package repository, or the Python package "
                   "nvidia-nccl-cu13) and put its folder into LD_LIBRARY_PATH; one GPU needs none");
#define GR_NCCL(name)                      \
  {                                        \
    void *at = dlsym(library, #name);      \
    memcpy(&gr_nccl.name, &at, sizeof at); \
    if (!at) missing = #name;              \
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

// ---- Errors -------------------------------------------------------------------------------------

typedef struct aborting {
  ncclComm_t comm;
  atomic_int users;  // the thread and the one that waits for it: the last frees this
  atomic_bool done;
} aborting;

static void leave(aborting *a) {
  if (atomic_fetch_sub(&a->users, 1) == 1) free(a);
}

static void *run_abort(void *arg) {
  aborting *a = arg;
  gr_nccl.ncclCommAbort(a->comm);
  atomic_store(&a->done, true);
  leave(a);
  return NULL;
}

// Ends the communicator: kernels that wait for peers end.
static void end(gr_nccl_comm *c) {
  pthread_t thread;
  aborting *a = c->ended || !c->comm ? NULL : calloc(1, sizeof *a);
  c->ended = true;
  if (!a) return;
  *a = (aborting){.comm = c->comm, .users = 2};
  if (pthread_create(&thread, NULL, run_abort, a)) {
    free(a);
    return;
  }
  pthread_detach(thread);
  for (double until = gr_seconds() + abort_s; !atomic_load(&a->done) && gr_seconds() < until;)
    pause_for(0.001);
  leave(a);
}

// Ends the communicator because of an error that the other ranks have to hear.
static gr_status give_up(gr_nccl_comm *c, gr_status s) {
  c->host->ops->abort(c->host, gr_status_text(s));
  end(c);
  return s;
}

// The host knows which rank has died or failed, soon after NCCL has lost the connection.
static gr_status find_cause(gr_nccl_comm *c) {
  for (double until = gr_seconds() + death_s; gr_seconds() < until; pause_for(0.02))
    GR_TRY(c->host->ops->check(c->host));
  return GR_OK;
}

gr_status gr_nccl_failed(gr_nccl_comm *c, ncclResult_t r, const char *what) {
  const char *last = gr_nccl.ncclGetLastError(c->comm);
  bool lost = r == ncclRemoteError || r == ncclSystemError;
  gr_status s = lost ? find_cause(c) : GR_OK;
  if (s) {
    end(c);
    return s;
  }
  gr_code code = lost                                                ? GR_ERR_RANK
                 : r == ncclInvalidArgument || r == ncclInvalidUsage ? GR_ERR_BUG
                                                                     : GR_ERR_LAUNCH;
  s = gr_fail(code, GR_NOWHERE, "NCCL fails on rank %d: %.*s returns '%s'%s%s", c->host->rank,
              (int)strcspn(what, "("), what, gr_nccl.ncclGetErrorString(r),
              last && *last ? ": " : "", last ? last : "");
  return give_up(c, gr_hint(s, "NCCL_DEBUG=INFO prints what NCCL does"));
}

// ---- Waiting ------------------------------------------------------------------------------------

// Whether a peer is known to have failed; asks the host's communicator ten times a second.
static gr_status check_host(gr_nccl_comm *c) {
  double now = gr_seconds();
  if (now - c->checked < check_interval_s) return GR_OK;
  c->checked = now;
  gr_status s = c->host->ops->check(c->host);
  if (s) end(c);
  return s;
}

static gr_status report_hang(gr_nccl_comm *c, const char *what) {
  gr_status s = gr_hint(
      gr_fail(GR_ERR_HANG, GR_NOWHERE, "%s of rank %d with NCCL did not complete within %g s", what,
              c->host->rank, c->timeout_s),
      "NCCL_DEBUG=INFO prints what NCCL does; distributed.timeout sets how long to wait");
  return give_up(c, s);
}

gr_status gr_nccl_settle(gr_nccl_comm *c, const char *what) {
  double begun = gr_seconds();
  for (ncclResult_t r = ncclInProgress;;) {
    ncclResult_t asked = gr_nccl.ncclCommGetAsyncError(c->comm, &r);
    if (asked != ncclSuccess) r = asked;
    if (r == ncclSuccess) return GR_OK;
    if (r != ncclInProgress) return gr_nccl_failed(c, r, what);
    GR_TRY(check_host(c));
    if (gr_seconds() - begun > c->timeout_s) return report_hang(c, what);
    pause_for(0.0005);
  }
}

static gr_status check_one(gr_nccl_comm *c, double waited) {
  ncclResult_t r = ncclSuccess;
  ncclResult_t asked = gr_nccl.ncclCommGetAsyncError(c->comm, &r);
  if (asked != ncclSuccess) r = asked;
  if (r != ncclSuccess && r != ncclInProgress) return gr_nccl_failed(c, r, "a collective");
  GR_TRY(check_host(c));
  return waited > c->timeout_s ? report_hang(c, "a collective") : GR_OK;
}

// Called by the device again and again while the host waits for it, with how long it has waited.
// When one communicator has failed, the others of the device would wait for it.
static gr_status check_all(void *arg, double waited) {
  gr_status s = GR_OK;
  for (gr_nccl_comm *c = arg; c && !s; c = c->next)
    if (!c->ended) s = check_one(c, waited);
  for (gr_nccl_comm *c = arg; c && s; c = c->next) end(c);
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
  end(c);
}

static gr_status copy_rows(gr_comm *base, void *to, size_t to_stride, const void *from,
                           size_t from_stride, size_t width, size_t rows) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  return c->cuda->copy_rows(c->device, c->queue, to, to_stride, from, from_stride, width, rows);
}

static gr_status clear(gr_comm *base, void *at, size_t bytes) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  return c->cuda->clear(c->device, c->queue, at, bytes);
}

// Removes a communicator from those that its device asks.
static void unwatch(gr_nccl_comm *c) {
  gr_nccl_comm *first = c->cuda->watched(c->device), **at = &first;
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  c->cuda->watch(c->device, first ? check_all : NULL, first);
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
      pause_for(0.0005);
      if (gr_nccl.ncclCommGetAsyncError(c->comm, &r) != ncclSuccess) break;
    }
    if (r == ncclSuccess)
      gr_nccl.ncclCommDestroy(c->comm);
    else
      end(c);
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
  char own[1 + sizeof *id] = {0}, got[1 + sizeof *id];
  gr_status s = GR_OK;
  if (c->host->rank == 0) {
    ncclResult_t r = gr_nccl.ncclGetUniqueId(id);
    if (r != ncclSuccess)
      s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NCCL fails: ncclGetUniqueId returns '%s': %s",
                  gr_nccl.ncclGetErrorString(r), gr_nccl.ncclGetLastError(NULL));
    own[0] = r == ncclSuccess;
    memcpy(own + 1, id, sizeof *id);
  }
  gr_status sent = gr_comm_run(c->host, GR_BROADCAST, GR_U8, sizeof own, own, got);
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
    end(c);
    free(c);
    return s;
  }
  c->next = c->cuda->watched(d);
  c->cuda->watch(d, check_all, c);
  *out = &c->base;
  return GR_OK;
}

extern const gr_nccl_module gr_module;
const gr_nccl_module gr_module = {load, open};
