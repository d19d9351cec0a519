// traced_collectives.c - the communicators of the device of traced.c: those of the host, with a
// count.
#include <stdlib.h>
#include "runtime/comm/collectives.h"
#include "tests/docs/traced.h"

typedef struct traced_comm {
  gr_comm base;   // first: what the executor knows
  gr_comm *host;  // of the same ranks, closed by its owner
  traced_device *device;
} traced_comm;

static gr_status run(gr_comm *c, gr_collective kind, gr_dtype d, int n, const gr_comm_piece *p) {
  traced_comm *t = (traced_comm *)c;
  t->device->collectives++;
  return t->host->ops->run(t->host, kind, d, n, p);
}

static gr_status alloc_shared(gr_comm *c, size_t bytes, void **out) {
  gr_comm *host = ((traced_comm *)c)->host;
  return host->ops->alloc_shared(host, bytes, out);
}

static void abort_host(gr_comm *c, const char *why) {
  gr_comm *host = ((traced_comm *)c)->host;
  host->ops->abort(host, why);
}

static void close(gr_comm *c) { free(c); }

static gr_status open(gr_device *d, gr_queue q, gr_comm *host, double timeout_s, gr_comm **out) {
  static const gr_comm_vtable ops = {.backend = "traced",
                                     .run = run,
                                     .alloc_shared = alloc_shared,
                                     .abort = abort_host,
                                     .close = close};
  (void)q, (void)timeout_s;
  traced_comm *t = calloc(1, sizeof *t);
  *out = t ? &t->base : NULL;
  if (!t) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  *t = (traced_comm){.base = *host, .host = host, .device = (traced_device *)d};
  t->base.ops = &ops;
  return GR_OK;
}

const gr_collectives gr_collectives_traced = {.name = "traced", .title = "traced", .open = open};
