// nccl.c - libnccl.so.2 without a GPU: ranks are threads or processes of one machine and meet in a
// mapped file.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <nccl.h>

#include "tests/gpu/standin/nccl_sum.h"
#include "tests/gpu/standin/standin.h"

enum {
  MAX_RANKS = 32,
  MAX_DEVICES = 16,
  CHUNK = 1 << 20,
  MEMORY = 24 << 20,  // of its device that a communicator takes
  ALL_REDUCE = 0,
  REDUCE,
  BROADCAST,
  ALL_GATHER,
  REDUCE_SCATTER
};
static const char *const kinds[] = {"AllReduce", "Reduce", "Broadcast", "AllGather",
                                    "ReduceScatter"};

typedef struct {
  int kind, type, op, root;
  size_t count;
} call;
struct shared {
  _Atomic int joined, failed;
  int gpu[MAX_RANKS];
  struct {
    _Atomic long arrived, left;
    call call;
  } slot[MAX_RANKS];
  char data[MAX_RANKS][CHUNK];  // sparse: pages exist once touched
};
struct ncclComm {
  int rank, n, device, aborted, asked, calls, waiting;
  int lazy;  // it was opened without blocking: a thread of its own does what it is asked to
  int finalized, destroyed;
  int memory;  // whether it has taken its memory
  long chunks;
  int ordered;              // it starts with the others of its device in one order on all ranks
  _Atomic int error, busy;  // busy: calls that its thread has not put in line yet
  struct shared *s;
  char text[300], path[128];
};
typedef struct {
  ncclComm_t comm;
  call call;
  const char *send;
  char *recv;
  size_t off;
  int index, arrived;
  double begun;
} work;

typedef struct {
  work w;
  cudaStream_t stream;
} item;
enum { MAX_ITEMS = 256 };
static _Thread_local int in_group, nqueued, njoining;
static _Thread_local item queued[MAX_ITEMS];
static _Thread_local ncclComm_t joining[MAX_RANKS];
static _Thread_local char last_error[400];

static ncclResult_t fail(ncclComm_t c, ncclResult_t r, const char *fmt, ...) {
  va_list a;
  va_start(a, fmt);
  vsnprintf(last_error, sizeof last_error, fmt, a);
  va_end(a);
  if (c) {
    c->error = r;
    memcpy(c->text, last_error, sizeof c->text - 1);
  }
  standin_say("NCCL: %s", last_error);
  return r;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- communicators ----

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  const char *dir = getenv("TMPDIR");
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "%.80s/standin-nccl-XXXXXX", dir ? dir : "/tmp");
  int fd = mkstemp(id->internal);
  if (fd < 0 || ftruncate(fd, sizeof(struct shared)))
    return fail(NULL, ncclSystemError, "%s: %s", id->internal, strerror(errno));
  return close(fd), ncclSuccess;
}
static ncclResult_t wait_joined(ncclComm_t c) {
  const char *limit = getenv("STANDIN_JOIN_SECONDS");
  for (double end = now() + (limit ? atof(limit) : 60); c->s->joined < c->n; usleep(200))
    if (now() > end)
      return fail(c, ncclSystemError, "rank %d: only %d of %d ranks joined", c->rank, c->s->joined,
                  c->n);
  if (c->rank == 0) unlink(c->path);
  c->waiting = 0;
  if (!(c->memory = standin_take(c->device, MEMORY)))
    return fail(c, ncclUnhandledCudaError, "rank %d: no memory of its device is left", c->rank);
  for (int r = 0; r < c->n; r++)
    if (r != c->rank && c->s->gpu[r] == c->s->gpu[c->rank])
      return fail(c, ncclInvalidUsage, "ranks %d and %d use the same GPU %d", c->rank, r,
                  c->s->gpu[r]);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (n < 1 || n > MAX_RANKS || rank < 0 || rank >= n || standin_device() < 0)
    return fail(NULL, ncclInvalidArgument, "init of rank %d of %d%s", rank, n,
                standin_device() < 0 ? " without a context" : "");
  int fd = open(id.internal, O_RDWR);
  ncclComm_t c = calloc(1, sizeof *c);
  c->rank = rank, c->n = n, c->device = standin_device(), c->waiting = 1;
  c->lazy = config && config->blocking == 0;
  const char *implicit = getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  int version;
  ncclGetVersion(&version);
  c->ordered = version >= 22600 && implicit && atoi(implicit);
  c->s = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *c->s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (c->s == MAP_FAILED) return fail(NULL, ncclInvalidArgument, "unique id: %s", strerror(errno));
  close(fd);
  memcpy(c->path, id.internal, sizeof c->path);
  c->s->gpu[rank] = standin_physical(c->device);
  c->s->joined++;
  *out = c;
  if (in_group) return joining[njoining++] = c, ncclSuccess;
  if (c->lazy) return ncclInProgress;
  return wait_joined(c);
}
// The library keeps a communicator until its work is done and the graphs that have captured its
// collectives, and their instances, are destroyed (NCCL's src/init.cc, commDestroySync).
static int in_use(ncclComm_t c) { return c->busy || standin_pending(c) || standin_captured(c); }
static void give_back(ncclComm_t c) {
  if (c->memory) standin_take(c->device, -(long)MEMORY);
  c->memory = 0;
}
// What a group has is not begun before its end; what was destroyed is not asked.
static ncclResult_t check_alive(ncclComm_t c, const char *name) {
  if (in_group) return fail(c, ncclInvalidUsage, "%s within a group", name);
  if (c->destroyed) return fail(c, ncclInvalidArgument, "%s of a destroyed communicator", name);
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *e) {
  ncclResult_t r = check_alive(c, __func__);
  if (r) return r;
  if (c->waiting && !c->error) {
    if (c->s->joined < c->n) return *e = ncclInProgress, ncclSuccess;
    wait_joined(c);
  }
  *e = (ncclResult_t)c->error;
  if (!*e && (c->busy || (c->finalized && in_use(c)))) *e = ncclInProgress;
  return ncclSuccess;
}
// Work under way ends without result. What is captured is waited for, as when it is destroyed.
ncclResult_t ncclCommAbort(ncclComm_t c) {
  for (c->aborted = 1; standin_captured(c);) usleep(500);
  return give_back(c), ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t c) {
  ncclResult_t r = check_alive(c, __func__);
  if (r) return r;
  if (c->finalized || c->aborted)
    return fail(c, ncclInvalidArgument, "ncclCommFinalize of a communicator that was closed");
  c->finalized = 1;
  if (c->lazy && in_use(c)) return ncclInProgress;
  while (in_use(c)) usleep(500);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t c) {
  ncclResult_t r = check_alive(c, __func__);
  if (r) return r;
  while (in_use(c)) usleep(500);
  return give_back(c), c->aborted = c->destroyed = 1, ncclSuccess;
}
ncclResult_t ncclGetVersion(int *v) {
  const char *e = getenv("STANDIN_NCCL_VERSION");
  return *v = e && *e ? atoi(e) : NCCL_VERSION_CODE, ncclSuccess;
}
const char *ncclGetLastError(ncclComm_t c) { return c && *c->text ? c->text : last_error; }
const char *ncclGetErrorString(ncclResult_t r) {
  static const char *const names[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "in progress"};
  return r >= 0 && r < 8 ? names[r] : "unknown";
}

static void reduce(ncclComm_t c, void *to, size_t first, size_t n, const call *k) {
  const char *ranks[MAX_RANKS];
  for (int r = 0; r < c->n; r++) ranks[r] = c->s->data[r];
  standin_nccl_reduce(to, ranks, c->n, first, n, k->type, k->op);
}

// ---- one collective, called again and again until all ranks have come ----

// STANDIN_NCCL_FAULT=rank:call:delay|fail|hang|exit|refuse -- the call-th collective that this rank
// carries out, or (refuse) is asked for
static const char *fault_of(ncclComm_t c, int index) {
  const char *e = getenv("STANDIN_NCCL_FAULT");
  int rank, number, n = 0;
  return e && sscanf(e, "%d:%d:%n", &rank, &number, &n) == 2 && n && rank == c->rank &&
                 number == index
             ? e + n
             : "";
}
static int same(const call *a, const call *b) {
  return a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root &&
         a->count == b->count;
}
// Whose collective has the processors of a device, which may be too few for a second one: ranks
// that start two in another order then wait for each other.
static ncclComm_t running[MAX_DEVICES];
static int leave(const work *w) {
  if (running[w->comm->device] == w->comm) running[w->comm->device] = NULL;
  return 1;
}
static int poll_work(void *arg) {
  work *w = arg;
  ncclComm_t c = w->comm;
  struct shared *s = c->s;
  call k = w->call;
  size_t size = standin_nccl_size(k.type), pieces = k.kind == REDUCE_SCATTER ? (size_t)c->n : 1;
  if (!w->index) w->index = ++c->calls, w->begun = now();
  if (c->aborted || c->error) return leave(w);
  if (!c->ordered && running[c->device] && running[c->device] != c) return 0;
  running[c->device] = c;
  const char *f = fault_of(c, w->index);
  if (*f == 'h' || (*f == 'd' && now() - w->begun < 0.2)) return 0;
  if (*f == 'e') _exit(1);
  if (*f == 'f') s->failed = 1 + c->rank;
  if (s->failed)
    return fail(c, ncclRemoteError, "rank %d: rank %d failed in call %d", c->rank, s->failed - 1,
                w->index),
           leave(w);
  for (;;) {
    size_t most = CHUNK / size / pieces, n = k.count - w->off < most ? k.count - w->off : most;
    if (!w->arrived) {
      for (int r = 0; r < c->n; r++)  // no rank still reads what this rank wrote last
        if (s->slot[r].left < c->chunks) return 0;
      if (k.kind != BROADCAST || k.root == c->rank)
        for (size_t p = 0; p < pieces; p++)
          memcpy(s->data[c->rank] + p * n * size, w->send + (p * k.count + w->off) * size,
                 n * size);
      s->slot[c->rank].call = k;
      s->slot[c->rank].arrived = c->chunks + 1;
      w->arrived = 1;
    }
    for (int r = 0; r < c->n; r++)
      if (s->slot[r].arrived <= c->chunks) return 0;
    for (int r = 0; r < c->n; r++) {
      const call *o = &s->slot[r].call;
      if (same(o, &k)) continue;
      fail(c, ncclInvalidArgument,
           "call %d: rank %d does %s(count %zu, type %d, op %d, root %d), rank %d does %s(count "
           "%zu, type %d, op %d, root %d)",
           w->index, c->rank, kinds[k.kind], k.count, k.type, k.op, k.root, r, kinds[o->kind],
           o->count, o->type, o->op, o->root);
      s->slot[c->rank].left = ++c->chunks;
      return leave(w);
    }
    char *to = w->recv + w->off * size;
    if (k.kind == ALL_REDUCE || (k.kind == REDUCE && k.root == c->rank)) reduce(c, to, 0, n, &k);
    if (k.kind == REDUCE_SCATTER) reduce(c, to, (size_t)c->rank * n, n, &k);
    if (k.kind == BROADCAST) memcpy(to, s->data[k.root], n * size);
    for (int r = 0; r < c->n && k.kind == ALL_GATHER; r++)
      memcpy(to + (size_t)r * k.count * size, s->data[r], n * size);
    s->slot[c->rank].left = ++c->chunks;
    w->arrived = 0, w->off += n;
    if (w->off >= k.count) return leave(w);
  }
}

static ncclResult_t enqueue(work w, cudaStream_t stream) {
  const char *name = kinds[w.call.kind];
  ncclComm_t c = w.comm;
  size_t n = w.call.count * standin_nccl_size(w.call.type), all = n * (size_t)c->n;
  int sends = w.call.kind != BROADCAST || w.call.root == c->rank,
      gets = w.call.kind != REDUCE || w.call.root == c->rank;
  if (!standin_nccl_size(w.call.type) || w.call.op > ncclAvg || w.call.root < 0 ||
      w.call.root >= c->n)
    return fail(c, ncclInvalidArgument, "nccl%s: arguments", name);
  if (standin_stream_device(stream) != c->device)
    return fail(c, ncclInvalidUsage, "nccl%s: stream of another device", name);
  if ((sends && standin_range(w.send, w.call.kind == REDUCE_SCATTER ? all : n, c->device, name)) ||
      (gets && standin_range(w.recv, w.call.kind == ALL_GATHER ? all : n, c->device, name)))
    return fail(c, ncclInvalidArgument, "nccl%s: buffers", name);
  if (!n) return ncclSuccess;
  if (sends) standin_uses(w.send, w.call.kind == REDUCE_SCATTER ? all : n, 0);
  if (gets) standin_uses(w.recv, w.call.kind == ALL_GATHER ? all : n, 1);
  return standin_enqueue(stream, name, poll_work, &w, sizeof w, c) ? ncclUnhandledCudaError
                                                                   : ncclSuccess;
}

// What a thread puts in line for calls that do not block: late, as the library does.
typedef struct {
  int n;
  item items[];
} later;
static void *enqueue_later(void *arg) {
  later *l = arg;
  static _Atomic unsigned calls;
  usleep((calls++ * 37) % 200);
  for (int i = 0; i < l->n; i++) {
    ncclComm_t c = l->items[i].w.comm;
    ncclResult_t r =
        c->error || c->aborted ? ncclSuccess : enqueue(l->items[i].w, l->items[i].stream);
    if (r && !c->error) c->error = r;
  }
  for (int i = 0; i < l->n; i++) l->items[i].w.comm->busy--;
  return free(l), NULL;
}
static ncclResult_t hand_over(const item *items, int n) {
  pthread_t thread;
  later *l = malloc(sizeof *l + (size_t)n * sizeof *items);
  memcpy(l->items, items, (size_t)n * sizeof *items);
  l->n = n;
  for (int i = 0; i < n; i++) items[i].w.comm->busy++;
  if (pthread_create(&thread, NULL, enqueue_later, l))
    return fail(items->w.comm, ncclSystemError, "no thread: %s", strerror(errno));
  return pthread_detach(thread), ncclInProgress;
}

static ncclResult_t submit(work w, cudaStream_t stream) {
  const char *name = kinds[w.call.kind];
  ncclComm_t c = w.comm;
  if (!c || c->aborted || c->finalized)
    return fail(c, ncclInvalidArgument, "nccl%s on an ended communicator", name);
  if (c->waiting) return fail(c, ncclInvalidUsage, "nccl%s before the communicator is ready", name);
  if (c->error) return (ncclResult_t)c->error;
  if (c->busy)
    return fail(c, ncclInvalidArgument, "nccl%s while its last call is in progress", name);
  if (*fault_of(c, ++c->asked) == 'r') return fail(c, ncclInvalidArgument, "nccl%s: refused", name);
  item one = {w, stream};
  if (in_group) {
    if (nqueued == MAX_ITEMS) return fail(c, ncclInternalError, "too many calls in a group");
    return queued[nqueued++] = one, ncclSuccess;
  }
  return c->lazy ? hand_over(&one, 1) : enqueue(w, stream);
}
#define WORK(kind, type, op, root, count) \
  (work) { .comm = c, .call = {kind, type, op, root, count}, .send = send, .recv = recv }
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t n, ncclDataType_t t, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t s) {
  return submit(WORK(ALL_REDUCE, t, op, 0, n), s);
}
ncclResult_t ncclReduce(const void *send, void *recv, size_t n, ncclDataType_t t, ncclRedOp_t op,
                        int root, ncclComm_t c, cudaStream_t s) {
  return submit(WORK(REDUCE, t, op, root, n), s);
}
ncclResult_t ncclBroadcast(const void *send, void *recv, size_t n, ncclDataType_t t, int root,
                           ncclComm_t c, cudaStream_t s) {
  return submit(WORK(BROADCAST, t, 0, root, n), s);
}
ncclResult_t ncclAllGather(const void *send, void *recv, size_t n, ncclDataType_t t, ncclComm_t c,
                           cudaStream_t s) {
  return submit(WORK(ALL_GATHER, t, 0, 0, n), s);
}
ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t n, ncclDataType_t t,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
  return submit(WORK(REDUCE_SCATTER, t, op, 0, n), s);
}
ncclResult_t ncclGroupStart(void);  // nccl.h has no prototypes of these two
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupStart(void) { return in_group++, ncclSuccess; }
ncclResult_t ncclGroupEnd(void) {
  if (!in_group) return fail(NULL, ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--in_group) return ncclSuccess;
  ncclResult_t r = ncclSuccess, e;
  for (int i = 0; i < njoining; i++)
    if ((e = wait_joined(joining[i]))) r = e;
  int n = nqueued;
  njoining = nqueued = 0;
  if (n && queued[0].w.comm->lazy) return r ? r : hand_over(queued, n);
  for (int i = 0; i < n; i++)
    if ((e = enqueue(queued[i].w, queued[i].stream))) r = e;
  return r;
}
