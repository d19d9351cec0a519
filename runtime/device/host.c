// host.c - see host.h.
#include "runtime/device/host.h"
#include <stdlib.h>
#include "base/port.h"
#include "base/work.h"
#include "ops/kernels/gemm.h"
#include "runtime/device/threads.h"

// WORTH_WAKING: memory moves fewer bytes between ranks sooner than threads change twice.
enum { LINE = 64, GRAIN = 2 << 20, WORTH_WAKING = 256 << 10 };  // bytes

gr_status gr_host_open(const gr_device_ops *ops, const gr_device_options *o, size_t bytes,
                       gr_device **out) {
  *out = NULL;
  int threads = o->threads > 0 ? o->threads : 1;
  if (!o->plain) GR_TRY(gr_gemm_open());
  gr_host_device *d = calloc(1, bytes);
  if (!d) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a device");
  d->base = (gr_device){.ops = ops, .limits = {.host_memory = true}};
  d->plain = o->plain;
  gr_device_limits *limits = &d->base.limits;
  limits->beside = limits->one_queue = o->ranks > 1 && !o->in_line;
  gr_status s = gr_cpu_create(threads, threads * o->ranks > gr_processors(), &d->cpu);
  if (!s && limits->beside) s = gr_comm_thread_start(o->one_machine ? WORTH_WAKING : 0, &d->beside);
  if (s)
    gr_host_close(&d->base);
  else
    *out = &d->base;
  return s;
}

void gr_host_close(gr_device *d) {
  gr_comm_thread_end(((gr_host_device *)d)->beside);
  gr_cpu_destroy(((gr_host_device *)d)->cpu);
  free(d);
}

// ---- Memory -----------------------------------------------------------------------------------

typedef struct clearing {
  char *memory;
  gr_work *phase;
} clearing;

static void clear(void *arg, int64_t begin, int64_t to) {
  const clearing *c = arg;
  for (int64_t n; begin < to && !gr_stop_due(); begin += n) {
    n = to - begin < GRAIN / LINE ? to - begin : GRAIN / LINE;
    memset(c->memory + begin * LINE, 0, (size_t)n * LINE);
    gr_work_add(c->phase, n * LINE);
  }
}

// Shared memory has small pages and takes longer to allocate, so it is used only where it speeds up
// collectives. Writing zeros on all threads pre-faults the pages, so that out-of-memory shows at
// start-up and not in the middle of a run. A block that a request to stop has left half cleared is
// freed by the caller.
gr_status gr_host_allocate(gr_device *d, size_t bytes, gr_comm *shared, gr_device_block *out) {
  size_t lines = bytes / LINE + 1;
  *out = (gr_device_block){.bytes = bytes, .shared = shared != NULL};
  if (shared)
    GR_TRY(shared->ops->alloc_shared(shared, lines * LINE, &out->address));
  else
    out->address = gr_large_alloc(lines * LINE);
  if (!out->address)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory", (double)bytes / 1e6);
  clearing c = {out->address, gr_work_current()};
  gr_parallel(&(gr_launch){.context = ((gr_host_device *)d)->cpu}, (int64_t)lines, GRAIN / LINE,
              clear, &c);
  return gr_stop_check();
}

void gr_host_free(gr_device *d, gr_device_block *b) {
  gr_status_drop(gr_host_synchronise(d, GR_QUEUE_REDUCE));  // after an error one may still run
  if (!b->shared) free(b->address);
  b->address = NULL;
}

gr_status gr_host_copy(gr_device *d, void *to, const void *source, size_t bytes) {
  (void)d;
  memcpy(to, source, bytes);
  return GR_OK;
}

gr_status gr_host_fill(gr_device *d, void *to, int byte, size_t bytes) {
  (void)d;
  memset(to, byte, bytes);
  return GR_OK;
}

// ---- Order and kernels ------------------------------------------------------------------------

static bool is_beside(gr_queue q) { return q == GR_QUEUE_GATHER || q == GR_QUEUE_REDUCE; }

gr_status gr_host_record(gr_device *d, gr_queue q, gr_device_event e) {
  gr_host_device *h = (gr_host_device *)d;
  h->event[e] = h->beside && is_beside(q) ? gr_comm_thread_count(h->beside) : 0;
  return GR_OK;
}

gr_status gr_host_wait(gr_device *d, gr_queue q, gr_device_event e) {
  gr_host_device *h = (gr_host_device *)d;
  return h->event[e] && !is_beside(q) ? gr_comm_thread_wait(h->beside, h->event[e]) : GR_OK;
}

gr_status gr_host_synchronise(gr_device *d, gr_queue q) {
  gr_comm_thread *t = ((gr_host_device *)d)->beside;
  (void)q;
  return t ? gr_comm_thread_wait(t, gr_comm_thread_count(t)) : GR_OK;
}

void gr_host_time_as(gr_device *d, void *of) {
  gr_comm_thread *t = ((gr_host_device *)d)->beside;
  if (t) gr_comm_thread_time_as(t, of);
}

gr_status gr_host_timings(gr_device *d, void (*take)(void *, const gr_device_timing *), void *arg) {
  gr_comm_thread *t = ((gr_host_device *)d)->beside;
  return t ? gr_comm_thread_timings(t, take, arg) : GR_OK;
}

void *gr_host_failed(const gr_device *d) {
  const gr_comm_thread *t = ((const gr_host_device *)d)->beside;
  return t ? gr_comm_thread_failed(t) : NULL;
}

gr_status gr_host_kernel(gr_device *d, const gr_op_call *call, const gr_launch *where,
                         gr_device_kernel *out) {
  (void)where;
  const gr_host_device *h = (gr_host_device *)d;
  *out = (gr_device_kernel){.context = h->cpu};
  if (!h->plain) out->run = gr_op_fast(call);
  if (!out->run) out->run = call->op->cpu;
  if (!out->run) return gr_device_refuse(d->ops, call);
  if (!h->beside || !call->op->collective) return GR_OK;
  return gr_comm_thread_kernel(h->beside, out->run, out);
}
