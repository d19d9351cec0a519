// nccl_wait.c - waiting for a communicator of NCCL, its errors, and ending it. See nccl_parts.h.
//
// Every call of NCCL that could block is made without blocking and polled, because a peer that has
// died would make it wait forever. ncclCommAbort has no such form: a thread calls it, and after a
// while it is left alone; the process is about to end then.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/port.h"
#include "base/thread.h"
#include "runtime/comm/nccl_parts.h"

// Seconds: between questions to the host's communicator; that ncclCommAbort may take; in which the
// host hears which rank has died, after NCCL has noticed that one has.
static const double check_interval_s = 0.1, abort_s = 5, death_s = 3;

void gr_nccl_pause(double seconds) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
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
void gr_nccl_end(gr_nccl_comm *c) {
  pthread_t thread;
  aborting *a = c->ended || !c->comm ? NULL : calloc(1, sizeof *a);
  c->ended = true;
  if (!a) return;
  *a = (aborting){.comm = c->comm, .users = 2};
  if (gr_thread_start(&thread, run_abort, a)) {
    free(a);
    return;
  }
  pthread_detach(thread);
  // NCCL keeps a communicator as long as there are graphs with its collectives.
  c->device->ops->forget(c->device);
  for (double until = gr_seconds() + abort_s; !atomic_load(&a->done) && gr_seconds() < until;)
    gr_nccl_pause(0.001);
  leave(a);
}

// Ends the communicator because of an error that the other ranks have to hear.
static gr_status give_up(gr_nccl_comm *c, gr_status s) {
  c->host->ops->abort(c->host, gr_status_text(s));
  gr_nccl_end(c);
  return s;
}

// The host knows which rank has died or failed, soon after NCCL has lost the connection.
static gr_status find_cause(gr_nccl_comm *c) {
  for (double until = gr_seconds() + death_s; gr_seconds() < until; gr_nccl_pause(0.02))
    GR_TRY(c->host->ops->check(c->host));
  return GR_OK;
}

gr_status gr_nccl_failed(gr_nccl_comm *c, ncclResult_t r, const char *what) {
  const char *last = gr_nccl.ncclGetLastError(c->comm);
  bool lost = r == ncclRemoteError || r == ncclSystemError;
  gr_status s = lost ? find_cause(c) : GR_OK;
  if (s) {
    gr_nccl_end(c);
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
  if (s) gr_nccl_end(c);
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
    gr_nccl_pause(0.0005);
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
gr_status gr_nccl_check_all(void *arg, double waited) {
  gr_status s = GR_OK;
  for (gr_nccl_comm *c = arg; c && !s; c = c->next)
    if (!c->ended) s = check_one(c, waited);
  for (gr_nccl_comm *c = arg; c && s; c = c->next) gr_nccl_end(c);
  return s;
}
