// cupti.c - times of what captured programs do, by CUPTI, which gives a record of each kernel, copy
// and fill that ran.
//
// A record of a graph's launch names the node of the executable graph. Which node of the model that
// is, callbacks tell: each piece of work that is captured becomes a node of the captured graph,
// which is tagged with what it belongs to (gr_device_ops.time_as), and an executable graph is made
// of copies of these nodes, which take the tags along. So a program is captured once more when it
// is measured. NCCL may enqueue a collective from a thread of its own: its nodes are known by the
// graph.
//
// CUPTI is one for the process, and calls from threads of its own as well. Under the lock no
// function of CUPTI's or the driver's is called.
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/device/cuda/parts.h"

static void without(const gr_device_options *o, gr_status why) {
  const char *hint = gr_status_hint(why);
  if (o->rank == 0)
    gr_log(GR_INFO,
           "nodes on the GPU are timed one by one, each with a wait and the cost of a launch: "
           "%s%s%s",
           gr_status_text(why), hint ? "; " : "", hint ? hint : "");
  gr_status_drop(why);
}

#if !GR_HAVE_CUPTI
bool gr_cuda_times_open(gr_cuda *c, const gr_device_options *o) {
  (void)c;
  if (o->timings)
    without(o, gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "graphrun was built without CUPTI's headers"));
  return false;
}
void gr_cuda_times_close(gr_cuda *c) { (void)c; }
gr_status gr_cuda_time(gr_device *d, bool on) { return (void)d, (void)on, GR_OK; }
void gr_cuda_time_as(gr_device *d, void *of) { (void)d, (void)of; }
gr_status gr_cuda_timings(gr_device *d, void (*take)(void *, const gr_device_timing *), void *arg) {
  return (void)d, (void)take, (void)arg, GR_OK;
}
void gr_cuda_times_capture(gr_cuda *c) { (void)c; }
uint64_t gr_cuda_times_captured(gr_cuda *c) { return (void)c, 0; }
void gr_cuda_times_launched(gr_cuda *c, uint64_t pieces) { (void)c, (void)pieces; }
#else

// All records that this program reads begin alike in every version of CUPTI 11 to 13.
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
typedef CUpti_ActivityMemset4 fill_record;

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
enum { KINDS = sizeof kinds / sizeof *kinds, BUFFER = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;  // around `lock`: CUPTI on and off
static CUpti_SubscriberHandle subscriber;
static gr_cuda *measured;  // devices, by times.next
static struct {
  size_t dropped, unknown, unreadable, strange;  // strange: of a graph that is no program's
} lost;
static _Thread_local gr_cuda *capturing_device;  // whose program this thread captures

// ---- Which node a piece of work is of ----------------------------------------------------------

// The device whose program a new node is of; NULL: none's, as of nodes of executable graphs.
static gr_cuda *capturer(CUgraph graph) {
  gr_cuda *c = measured;
  if (capturing_device) return capturing_device;
  while (c && !(c->times.capturing && c->times.graph == graph)) c = c->times.next;
  return c;
}

static bool has_records(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         type == CU_GRAPH_NODE_TYPE_MEMSET;
}

static void created(const CUpti_GraphData *g, uint64_t node) {
  gr_cuda *c = capturer(g->graph);
  if (!c || !has_records(g->nodeType)) return;
  gr_cuda_times *t = &c->times;
  bool repeats = c == capturing_device && c->loop.depth > 0;
  if (c == capturing_device && !repeats) t->graph = g->graph;
  gr_tag_put(&t->tags,
             (gr_node_tag){.node = node, .of = t->of, .first = t->fresh, .counts = !repeats});
  t->fresh = false;
  t->pieces += !repeats;
}

static void cloned(uint64_t original, uint64_t node) {
  for (gr_cuda *c = measured; c; c = c->times.next) {
    const gr_node_tag *tag = gr_tag_find(&c->times.tags, original);
    if (!tag) continue;
    gr_node_tag copy = *tag;
    copy.node = node;
    gr_tag_put(&c->times.tags, copy);
  }
}

static void CUPTIAPI on_node(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data) {
  const CUpti_GraphData *g = ((const CUpti_ResourceData *)data)->resourceDescriptor;
  uint64_t node = 0, original = 0;
  (void)unused;
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || !g) return;
  bool clone = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  if (gr_cp.cuptiGetGraphNodeId(g->node, &node) ||
      (clone && gr_cp.cuptiGetGraphNodeId(g->originalNode, &original)))
    return;
  pthread_mutex_lock(&lock);
  if (clone)
    cloned(original, node);
  else
    created(g, node);
  pthread_mutex_unlock(&lock);
}

void gr_cuda_time_as(gr_device *d, void *of) {
  gr_cuda_times *t = &gr_cuda_of(d)->times;
  pthread_mutex_lock(&lock);
  t->of = of, t->fresh = of != NULL;
  pthread_mutex_unlock(&lock);
}

void gr_cuda_times_capture(gr_cuda *c) {
  CUgraph graph = NULL;
#if CUDA_VERSION >= 13000
  CUstreamCaptureStatus status;
  if (gr_cu.cuStreamGetCaptureInfo(c->stream[GR_QUEUE_COMPUTE], &status, NULL, &graph, NULL, NULL,
                                   NULL))
    graph = NULL;
#endif
  pthread_mutex_lock(&lock);
  capturing_device = c, c->times.capturing = true, c->times.graph = graph, c->times.pieces = 0;
  pthread_mutex_unlock(&lock);
}

uint64_t gr_cuda_times_captured(gr_cuda *c) {
  pthread_mutex_lock(&lock);
  capturing_device = NULL, c->times.capturing = false;
  uint64_t pieces = c->times.pieces;
  pthread_mutex_unlock(&lock);
  return pieces;
}

void gr_cuda_times_launched(gr_cuda *c, uint64_t pieces) {
  pthread_mutex_lock(&lock);
  c->times.due += (int64_t)pieces, c->times.launched += (int64_t)pieces;
  pthread_mutex_unlock(&lock);
}

// ---- Records -----------------------------------------------------------------------------------

typedef struct record {
  const char *what;
  uint64_t node, began, to;  // node 0: it was enqueued by itself
  uint32_t context;
} record;

static void add(gr_cuda_times *t, const gr_node_tag *tag, const record *r) {
  if (tag) t->due -= tag->counts;
  if (!r->began && !r->to) {
    t->untimed++;
    t->missing += tag && tag->counts;
    return;
  }
  if (t->n == t->room) {
    size_t room = t->room ? 2 * t->room : 4096;
    gr_device_timing *more = realloc(t->taken, room * sizeof *more);
    if (!more) {
      lost.dropped++;
      return;
    }
    t->taken = more, t->room = room;
  }
  t->taken[t->n++] = (gr_device_timing){.of = tag ? tag->of : NULL,
                                        .what = r->what,
                                        .first = tag && tag->first,
                                        .start = t->epoch + (int64_t)r->began,
                                        .lasts = (int64_t)(r->to - r->began)};
}

// Of what was enqueued by itself, the host measures kernels and copies of nodes. What a device did
// before it was measured has a record if another one was.
static void take_record(const record *r) {
  const gr_node_tag *tag = NULL;
  bool loads = !strcmp(r->what, "upload") || !strcmp(r->what, "download");
  gr_cuda *c = measured;
  while (c && !(tag = gr_tag_find(&c->times.tags, r->node))) c = c->times.next;
  if (c) {
    add(&c->times, tag, r);
    return;
  }
  for (c = measured; c && c->times.context != r->context;) c = c->times.next;
  if (!c || (r->began && r->began < c->times.began)) return;
  if (r->node)
    lost.strange++;
  else if (loads)
    add(&c->times, NULL, r);
}

static const char *kind_of_copy(uint8_t kind) {
  return kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "upload"
         : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "download"
                                                   : "copy";
}

static void read_record(const CUpti_Activity *a) {
  if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || a->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    const kernel_record *k = (const void *)a;
    take_record(&(record){"kernel", k->graphNodeId, k->start, k->end, k->contextId});
  } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const copy_record *m = (const void *)a;
    take_record(
        &(record){kind_of_copy(m->copyKind), m->graphNodeId, m->start, m->end, m->contextId});
  } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const fill_record *m = (const void *)a;
    take_record(&(record){"fill", m->graphNodeId, m->start, m->end, m->contextId});
  } else {
    lost.unknown++;
  }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *most) {
  *buffer = malloc(BUFFER), *bytes = *buffer ? BUFFER : 0, *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                 size_t valid) {
  CUpti_Activity *a = NULL;
  CUptiResult r = CUPTI_SUCCESS;
  size_t dropped = 0;
  (void)bytes;
  while (buffer && !(r = gr_cp.cuptiActivityGetNextRecord(buffer, valid, &a))) {
    pthread_mutex_lock(&lock);
    read_record(a);
    pthread_mutex_unlock(&lock);
  }
  if (gr_cp.cuptiActivityGetNumDroppedRecords(context, stream, &dropped)) dropped = 0;
  pthread_mutex_lock(&lock);
  lost.dropped += dropped;
  lost.unreadable += buffer && r != CUPTI_ERROR_MAX_LIMIT_REACHED;
  pthread_mutex_unlock(&lock);
  free(buffer);
}

// ---- Beginning and ending ----------------------------------------------------------------------

static gr_status enable(bool on) {
  for (int i = 0; i < KINDS; i++)
    if (on)
      CP_TRY(cuptiActivityEnable(kinds[i]));
    else
      CP_TRY(cuptiActivityDisable(kinds[i]));
  return GR_OK;
}

static gr_status begin_all(void) {
  CP_TRY(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
  CP_TRY(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                             CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED));
  CP_TRY(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                             CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
  GR_TRY(enable(true));  // finds out whether it is allowed
  return enable(false);
}

static gr_status begin(void) {
  CP_TRY(cuptiSubscribe(&subscriber, on_node, NULL));
  gr_status s = begin_all();
  if (s) gr_cp.cuptiUnsubscribe(subscriber);
  return s;
}

bool gr_cuda_times_open(gr_cuda *c, const gr_device_options *o) {
  (void)c;
  gr_status s = o->timings ? gr_cupti_open(begin) : GR_OK;
  if (s) without(o, s);
  return o->timings && !s;
}

static gr_status time_on(gr_cuda *c) {
  gr_cuda_times *t = &c->times;
  CP_TRY(cuptiGetContextId(c->context, &t->context));
  CP_TRY(cuptiGetTimestamp(&t->began));
  t->epoch = (int64_t)(1e9 * gr_wall_seconds()) - (int64_t)t->began;
  pthread_mutex_lock(&lock);
  t->on = true, t->next = measured, measured = c;
  pthread_mutex_unlock(&lock);
  return enable(true);
}

// What records do not tell.
static void report(const gr_cuda_times *t) {
  gr_arena *work = gr_arena_create();
  gr_text text = gr_text_make(work);
  int64_t none = t->missing > 0 ? t->missing : 0;
  const struct {
    uint64_t n;
    const char *what;
  } all[] = {{lost.dropped, "dropped for want of memory"},
             {t->untimed, "without times"},
             {lost.unknown, "of unknown kinds"},
             {lost.strange, "of nodes that are no program's"},
             {lost.unreadable, "that cannot be read, nor what follows them"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].n)
      gr_text_printf(&text, "%s%" PRIu64 " %s", text.len ? ", " : "", all[i].n, all[i].what);
  if (none || text.len)
    gr_log(GR_WARN,
           "of %" PRId64 " kernels, copies and fills of the GPU's programs %" PRId64
           " have no time; CUPTI's records: %s",
           t->launched, none, text.len ? text.chars : "no more");
  gr_arena_destroy(work);
}

void gr_captured_forget(gr_cuda *c) {
  for (gr_captured *p = c->captured; p; p = p->next)
    if (p->timed) gr_cu.cuGraphExecDestroy(p->timed), p->timed = NULL;
}

static gr_status time_off(gr_cuda *c) {
  gr_cuda_times *t = &c->times;
  pthread_mutex_lock(&lock);
  gr_cuda **link = &measured;
  while (*link != c) link = &(*link)->times.next;
  *link = t->next;
  bool last = !measured;
  report(t);
  if (last) memset(&lost, 0, sizeof lost);
  gr_tags_free(&t->tags), free(t->taken);
  *t = (gr_cuda_times){0};
  pthread_mutex_unlock(&lock);
  gr_captured_forget(c);
  return last ? enable(false) : GR_OK;
}

gr_status gr_cuda_time(gr_device *d, bool on) {
  gr_cuda *c = gr_cuda_of(d);
  for (gr_queue q = 0; q < GR_QUEUE_COUNT && on; q++) GR_TRY(d->ops->synchronise(d, q));
  pthread_mutex_lock(&switching);
  gr_status s = on == c->times.on ? GR_OK : on ? time_on(c) : time_off(c);
  pthread_mutex_unlock(&switching);
  return s;
}

void gr_cuda_times_close(gr_cuda *c) { gr_status_drop(gr_cuda_time(&c->base, false)); }

// ---- Taking ------------------------------------------------------------------------------------

static int64_t still_due(const gr_cuda_times *t) {
  pthread_mutex_lock(&lock);
  int64_t due = t->due;
  pthread_mutex_unlock(&lock);
  return due;
}

// A buffer in which another device's work is not done yet is not given back for the asking, so it
// is asked for several times; what is not there then will not come, or is partly another device's.
static gr_status flush(gr_cuda *c) {
  const struct timespec pause = {.tv_nsec = 5000000};
  enum { TIMES = 40 };
  CP_TRY(cuptiActivityFlushAll(0));
  for (int i = 0; i < TIMES && still_due(&c->times) > 0; i++) {
    nanosleep(&pause, NULL);
    CP_TRY(cuptiActivityFlushAll(0));
  }
  if (still_due(&c->times) > 0) CP_TRY(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  return GR_OK;
}

gr_status gr_cuda_timings(gr_device *d, void (*take)(void *, const gr_device_timing *), void *arg) {
  gr_cuda *c = gr_cuda_of(d);
  gr_cuda_times *t = &c->times;
  for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++) GR_TRY(d->ops->synchronise(d, q));
  GR_TRY(flush(c));
  pthread_mutex_lock(&lock);
  gr_device_timing *all = t->taken;
  size_t n = t->n;
  t->missing += t->due;  // less than 0: of those that were given up before
  t->taken = NULL, t->n = t->room = 0, t->due = 0;
  pthread_mutex_unlock(&lock);
  for (size_t i = 0; i < n; i++) take(arg, &all[i]);
  free(all);
  return GR_OK;
}
#endif
