// cupti.c - a stand-in for CUPTI: records of kernels, copies and memsets, with the stand-in
// driver's times, and callbacks about nodes of graphs. Records are put into buffers in the order in
// which work runs, which is not that of the calls.
//
// STANDIN_CUPTI=WHAT or WHAT:N with WHAT of: refuse (it is not allowed), busy (another profiler
// does), drop, untimed, unknown (every N-th record is lost, has no times, is followed by one of
// another kind), unreadable (the N-th record of a buffer ends it)
#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/gpu/standin/standin.h"

typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
typedef CUpti_ActivityMemset4 fill_record;
typedef CUpti_ActivityOverhead other_record;

#define UNKNOWN CUPTI_ACTIVITY_KIND_OVERHEAD  // which the product does not ask for
#define MAX_KINDS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_CallbackFunc callback;
static void *callback_data;
static int wanted[CUPTI_CBID_RESOURCE_SIZE], enabled[MAX_KINDS];
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t *buffer;
static size_t room, used, most, records, dropped;

static int asked(const char *what) {
  const char *e = getenv("STANDIN_CUPTI");
  size_t n = strlen(what);
  if (!e || strncmp(e, what, n) || (e[n] && e[n] != ':')) return 0;
  return e[n] ? atoi(e + n + 1) : 1;
}
static int every(const char *what) {
  int n = asked(what);
  return n && records % (size_t)n == 0;
}
#define FAIL(code, ...) return standin_say(__VA_ARGS__), (code)

CUptiResult cuptiGetResultString(CUptiResult r, const char **text) {
  *text = r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
          : r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_?";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return *t = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, CUPTI_SUCCESS;
}
CUptiResult cuptiGetContextId(CUcontext c, uint32_t *id) {
  CUcontext before;
  if (!c) return CUPTI_ERROR_INVALID_CONTEXT;
  if (cuCtxGetCurrent(&before) || cuCtxSetCurrent(c)) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = 100 + (uint32_t)standin_device();
  return cuCtxSetCurrent(before), CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  if (!node) return CUPTI_ERROR_INVALID_PARAMETER;
  return *id = standin_node_id(node), CUPTI_SUCCESS;
}

// ---- Callbacks ---------------------------------------------------------------------------------

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *data) {
  if (asked("busy")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  if (callback) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = f, callback_data = data;
  return *s = (CUpti_SubscriberHandle)(void *)&callback, CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s) {
  if (!s || s != (CUpti_SubscriberHandle)(void *)&callback) return CUPTI_ERROR_INVALID_PARAMETER;
  memset(wanted, 0, sizeof wanted);
  return callback = NULL, CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (s != (CUpti_SubscriberHandle)(void *)&callback || domain != CUPTI_CB_DOMAIN_RESOURCE ||
      id >= CUPTI_CBID_RESOURCE_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  return wanted[id] = (int)on, CUPTI_SUCCESS;
}
static void call(CUpti_CallbackId id, CUpti_GraphData *g) {
  CUpti_ResourceData r = {.resourceDescriptor = g};
  if (callback && wanted[id]) callback(callback_data, CUPTI_CB_DOMAIN_RESOURCE, id, &r);
}
static void created(void *graph, void *node, int type) {
  call(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
       &(CUpti_GraphData){.graph = graph, .node = node, .nodeType = (CUgraphNodeType)type});
}
static void cloned(void *graph, void *original, void *node, int type) {
  call(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &(CUpti_GraphData){.originalGraph = graph,
                                                                .node = node,
                                                                .originalNode = original,
                                                                .nodeType = (CUgraphNodeType)type});
}

// ---- Records -----------------------------------------------------------------------------------

static size_t size_of(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(kernel_record)
         : kind == CUPTI_ACTIVITY_KIND_MEMCPY          ? sizeof(copy_record)
         : kind == CUPTI_ACTIVITY_KIND_MEMSET          ? sizeof(fill_record)
         : kind == UNKNOWN                             ? sizeof(other_record)
                                                       : 0;
}
static void give(void) {  // the buffer back
  uint8_t *full = buffer;
  size_t bytes = room, valid = used;
  buffer = NULL;
  pthread_mutex_unlock(&lock);
  if (full) complete(NULL, 0, full, bytes, valid);
  pthread_mutex_lock(&lock);
}
static void put(const void *record, size_t bytes) {
  if (!complete) return;
  if (buffer && used + bytes > room) give();
  if (!buffer) request(&buffer, &room, &most), used = 0;
  if (!buffer || room < bytes || (uintptr_t)buffer % 8) {
    dropped++;
    return;
  }
  memcpy(buffer + used, record, bytes);
  used += bytes;
}

static void put_work(const standin_work *w, uint64_t start, uint64_t end) {
  uint32_t context = 100 + w->device;
  if (w->kind == 'k') {
    kernel_record k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                       .start = start,
                       .end = end,
                       .deviceId = w->device,
                       .contextId = context,
                       .name = w->name,
                       .graphNodeId = w->node};
    put(&k, sizeof k);
  } else if (w->kind == 's') {
    fill_record s = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                     .bytes = w->bytes,
                     .start = start,
                     .end = end,
                     .deviceId = w->device,
                     .contextId = context,
                     .graphNodeId = w->node};
    put(&s, sizeof s);
  } else {
    copy_record c = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                     .copyKind = w->kind == 'u'   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                 : w->kind == 'd' ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                  : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
                     .bytes = w->bytes,
                     .start = start,
                     .end = end,
                     .deviceId = w->device,
                     .contextId = context,
                     .graphNodeId = w->node};
    put(&c, sizeof c);
  }
}
static void done(const standin_work *w) {
  CUpti_ActivityKind kind = w->kind == 'k'   ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                            : w->kind == 's' ? CUPTI_ACTIVITY_KIND_MEMSET
                                             : CUPTI_ACTIVITY_KIND_MEMCPY;
  pthread_mutex_lock(&lock);
  if (enabled[kind]) {
    records++;
    int untimed = every("untimed");
    if (every("drop"))
      dropped++;
    else
      put_work(w, untimed ? 0 : (uint64_t)w->start, untimed ? 0 : (uint64_t)w->end);
    other_record other = {.kind = UNKNOWN};
    if (every("unknown")) put(&other, sizeof other);
  }
  pthread_mutex_unlock(&lock);
}

static CUptiResult set(CUpti_ActivityKind kind, int on) {
  static const standin_observer all = {created, cloned, done};
  if (asked("refuse")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (!complete) FAIL(CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI: activities without buffers");
  if (!size_of(kind) || kind >= MAX_KINDS) return CUPTI_ERROR_INVALID_KIND;
  pthread_mutex_lock(&lock);
  enabled[kind] = on;
  pthread_mutex_unlock(&lock);
  return standin_observe(&all), CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return set(kind, 1); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return set(kind, 0); }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc a,
                                           CUpti_BuffersCallbackCompleteFunc b) {
  if (!a || !b) return CUPTI_ERROR_INVALID_PARAMETER;
  return request = a, complete = b, CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t flags) {
  (void)flags;
  if (!complete) return CUPTI_ERROR_INVALID_OPERATION;
  pthread_mutex_lock(&lock);
  give();
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t *filled, size_t valid, CUpti_Activity **record) {
  static _Thread_local int seen;
  if (!filled) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : filled;
  seen = *record ? seen + 1 : 1;
  if (next >= filled + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (asked("unreadable") == seen) return CUPTI_ERROR_INVALID_KIND;
  return *record = (CUpti_Activity *)(void *)next, CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c, uint32_t stream, size_t *n) {
  (void)c, (void)stream;
  pthread_mutex_lock(&lock);
  *n = dropped, dropped = 0;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}
