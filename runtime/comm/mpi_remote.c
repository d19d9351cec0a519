// mpi_remote.c - communication between machines, and failure reports between them. See mpi.c.
#include "runtime/comm/mpi_parts.h"

#if GR_HAVE_MPI
#include <sched.h>
#include <string.h>

enum { FAILURE_TAG = 71 };

// ---- Failure reports between machines -----------------------------------------------

// Errors of sending are ignored: a rank that gets no report runs into its timeout.
void gr_mpi_report_abort(gr_mpi *m) {
  gr_mpi *w = m->world;
  gr_comm_status *f = &w->node.block->status;
  if (w->machines == 1 || w->abort_reported ||
      atomic_load_explicit(&f->state, memory_order_acquire) != 2)
    return;
  w->abort_reported = true;
  static gr_comm_status report;  // static: the nonblocking sends read it after this returns
  memcpy(report.why, f->why, sizeof report.why);
  report.code = f->code, report.rank = f->rank;
  for (int r = 0; r < w->base.ranks; r++) {
    MPI_Request request;
    if (r == w->base.rank) continue;
    if (MPI_Isend(&report, sizeof report, MPI_BYTE, r, FAILURE_TAG, w->wire, &request) ==
        MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

void gr_mpi_poll_aborts(gr_shared *node) {
  gr_mpi *w = ((gr_mpi *)((char *)node - offsetof(gr_mpi, node)))->world;
  int there = 0;
  gr_comm_status report;
  if (MPI_Iprobe(MPI_ANY_SOURCE, FAILURE_TAG, w->wire, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      !there)
    return;
  if (MPI_Recv(&report, sizeof report, MPI_BYTE, MPI_ANY_SOURCE, FAILURE_TAG, w->wire,
               MPI_STATUS_IGNORE) == MPI_SUCCESS)
    gr_comm_status_abort(&w->node.block->status, report.code, report.rank, "%s", report.why);
}

// Waits for a nonblocking MPI collective, and fails when a rank has failed or the timeout is over.
static gr_status finish(gr_mpi *m, MPI_Request *request, const char *what) {
  double begun = gr_seconds(), checked = begun;
  for (int done = 0;;) {
    for (int i = 0; i < 64 && !done; i++) {
      MPI_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
      if (!done) sched_yield();
    }
    if (done) return GR_OK;
    double now = gr_seconds();
    if (now - checked > 0.1) {
      checked = now;
      GR_TRY(gr_shared_check(&m->node.base));
    }
    if (now - begun > m->node.timeout_s)
      gr_comm_status_abort(&m->world->node.block->status, GR_ERR_HANG, m->world_rank,
                           "%s with the ranks of other machines did not complete within %g s", what,
                           m->node.timeout_s);
    GR_TRY(gr_shared_status(&m->node));
  }
}

// ---- The link between leaders -----------------------------------------------------------------

// All sizes are at most a chunk per machine, far below INT_MAX.
static gr_status gather(void *link, const void *part, size_t bytes, void *all) {
  gr_mpi *m = link;
  MPI_Request request;
  MPI_TRY(
      MPI_Iallgather(part, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, m->leaders, &request));
  return finish(m, &request, "a collective");
}

static gr_status spread(void *link, void *data, size_t bytes) {
  gr_mpi *m = link;
  MPI_Request request;
  for (size_t done = 0, some; done < bytes; done += some) {
    some = bytes - done < GR_SHARED_CHUNK ? bytes - done : GR_SHARED_CHUNK;
    MPI_TRY(MPI_Ibcast((char *)data + done, (int)some, MPI_BYTE, 0, m->leaders, &request));
    GR_TRY(finish(m, &request, "a broadcast"));
  }
  return GR_OK;
}

const gr_machines_link gr_mpi_link = {gather, spread};
#endif
