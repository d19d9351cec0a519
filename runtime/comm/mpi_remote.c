// mpi_remote.c - collectives across machines, and failure reports between them. See mpi.c.
#include "runtime/comm/mpi_parts.h"

#if GR_HAVE_MPI
#include <limits.h>
#include <sched.h>
#include <string.h>
#include "runtime/comm/sum.h"

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

// ---- Collectives across machines ------------------------------------------------------

static gr_status run_local(gr_mpi *m, gr_collective kind, gr_dtype d, int64_t n, const void *in,
                           void *out) {
  return gr_shared_run(&m->node.base, kind, d, 1, &(gr_comm_piece){n, in, out});
}

// Sums n elements, at most one chunk, over all ranks: within each machine, over the leaders in
// machine order, and back by a broadcast within each machine.
static gr_status sum_chunk(gr_mpi *m, gr_dtype d, int64_t n, const void *in, void *out) {
  GR_TRY(run_local(m, GR_ALL_REDUCE, d, n, in, out));
  if (m->node.base.rank == 0) {
    const void *term[m->machines];
    int bytes = (int)((size_t)n * gr_dtypes[d].size);
    MPI_Request request;
    MPI_TRY(
        MPI_Iallgather(out, bytes, MPI_BYTE, m->gathered, bytes, MPI_BYTE, m->leaders, &request));
    GR_TRY(finish(m, &request, "all_reduce"));
    for (int i = 0; i < m->machines; i++) term[i] = m->gathered + (size_t)i * (size_t)bytes;
    gr_comm_sum(d, n, m->machines, term, 1, &out);
  }
  return run_local(m, GR_BROADCAST, d, n, out, out);
}

// Sums several pieces that together fit into a chunk as one message.
static gr_status sum_packed(gr_mpi *m, gr_dtype d, int n, const gr_comm_piece *piece) {
  size_t size = gr_dtypes[d].size;
  int64_t used = 0;
  for (int i = 0; i < n; used += piece[i++].count)
    memcpy(m->spare + (size_t)used * size, piece[i].in, (size_t)piece[i].count * size);
  GR_TRY(sum_chunk(m, d, used, m->spare, m->spare));
  for (int i = n; i--;)
    memcpy(piece[i].out, m->spare + (size_t)(used -= piece[i].count) * size,
           (size_t)piece[i].count * size);
  return GR_OK;
}

// Sums one piece chunk by chunk. out: NULL when this rank does not need the sum.
static gr_status sum_piece(gr_mpi *m, gr_dtype d, int64_t count, const char *in, char *out) {
  size_t size = gr_dtypes[d].size;
  int64_t most = GR_SHARED_CHUNK / (int64_t)size;
  for (int64_t at = 0; at < count; at += most)
    GR_TRY(sum_chunk(m, d, count - at < most ? count - at : most, in + (size_t)at * size,
                     out ? out + (size_t)at * size : m->spare));
  return GR_OK;
}

static gr_status all_reduce(gr_mpi *m, gr_dtype d, int n, const gr_comm_piece *piece) {
  int64_t most = GR_SHARED_CHUNK / (int64_t)gr_dtypes[d].size;
  for (int i = 0, next; i < n; i = next) {
    int64_t together = piece[i].count;
    for (next = i + 1; next < n && together + piece[next].count <= most; next++)
      together += piece[next].count;
    GR_TRY(next > i + 1 ? sum_packed(m, d, next - i, piece + i)
                        : sum_piece(m, d, together, piece[i].in, piece[i].out));
  }
  return GR_OK;
}

static gr_status reduce_scatter(gr_mpi *m, gr_dtype d, const gr_comm_piece *p) {
  size_t bytes = (size_t)p->count * gr_dtypes[d].size;
  for (int r = 0; r < m->base.ranks; r++)
    GR_TRY(sum_piece(m, d, p->count, (const char *)p->in + (size_t)r * bytes,
                     r == m->base.rank ? p->out : NULL));
  return GR_OK;
}

static gr_status run_piece(gr_mpi *m, gr_collective kind, gr_dtype d, const gr_comm_piece *p) {
  MPI_Datatype types[GR_DTYPE_COUNT] = {
      [GR_F32] = MPI_FLOAT,   [GR_F64] = MPI_DOUBLE,  [GR_BF16] = MPI_UINT16_T,
      [GR_I32] = MPI_INT32_T, [GR_I64] = MPI_INT64_T, [GR_U8] = MPI_UINT8_T};
  MPI_Request request;
  if (kind == GR_REDUCE_SCATTER) return reduce_scatter(m, d, p);
  if (p->count > INT_MAX)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "%lld elements are too many for one message",
                   (long long)p->count);
  int n = (int)p->count;
  if (kind == GR_ALL_GATHER) {
    MPI_TRY(MPI_Iallgather(p->in, n, types[d], p->out, n, types[d], m->all, &request));
    return finish(m, &request, "all_gather");
  }
  if (kind == GR_BROADCAST) {
    if (m->base.rank == 0 && p->in != p->out)
      memcpy(p->out, p->in, (size_t)p->count * gr_dtypes[d].size);
    MPI_TRY(MPI_Ibcast(p->out, n, types[d], 0, m->all, &request));
    return finish(m, &request, "broadcast");
  }
  MPI_TRY(MPI_Ibarrier(m->all, &request));
  return finish(m, &request, "barrier");
}

gr_status gr_mpi_run_far(gr_mpi *m, gr_collective kind, gr_dtype d, int n,
                         const gr_comm_piece *piece) {
  GR_TRY(gr_shared_status(&m->node));
  if (kind == GR_ALL_REDUCE) return all_reduce(m, d, n, piece);
  for (int i = 0; i < n; i++) GR_TRY(run_piece(m, kind, d, &piece[i]));
  return GR_OK;
}
#endif
