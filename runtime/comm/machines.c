// machines.c - see machines.h.
#include "runtime/comm/machines.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/comm/sum.h"

gr_status gr_machines_open(gr_machines *m, gr_shared *node, const gr_machines_link *ops, void *link,
                           int rank, int machines, int most, const int *rank_of) {
  size_t places = (size_t)machines * (size_t)most;
  int ranks = 0;
  for (size_t i = 0; i < places; i++) ranks += rank_of[i] >= 0;
  *m = (gr_machines){.node = node,
                     .rank = rank,
                     .ranks = ranks,
                     .ops = ops,
                     .link = link,
                     .machines = machines,
                     .most = most,
                     .rank_of = malloc(places * sizeof *rank_of),
                     .spare = malloc(GR_SHARED_CHUNK),
                     .gathered = malloc((size_t)machines * GR_SHARED_CHUNK)};
  if (!m->rank_of || !m->spare || !m->gathered)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for communication with %d machines",
                   machines);
  memcpy(m->rank_of, rank_of, places * sizeof *rank_of);
  return GR_OK;
}

void gr_machines_close(gr_machines *m) {
  free(m->rank_of), free(m->spare), free(m->gathered);
  *m = (gr_machines){0};
}

static bool is_leader(const gr_machines *m) { return m->node->base.rank == 0; }

static gr_status run_local(gr_machines *m, gr_collective kind, gr_dtype d, int64_t n,
                           const void *in, void *out) {
  return gr_shared_run(&m->node->base, kind, d, 1, &(gr_comm_piece){n, in, out});
}

// ---- Sums ---------------------------------------------------------------------------------------

// Sums n elements, at most one chunk, over all ranks: within each machine, over the leaders in
// machine order, and back by a broadcast within each machine.
static gr_status sum_chunk(gr_machines *m, gr_dtype d, int64_t n, const void *in, void *out) {
  GR_TRY(run_local(m, GR_ALL_REDUCE, d, n, in, out));
  if (is_leader(m)) {
    const void *term[m->machines];
    size_t bytes = (size_t)n * gr_dtypes[d].size;
    GR_TRY(m->ops->gather(m->link, out, bytes, m->gathered));
    for (int i = 0; i < m->machines; i++) term[i] = m->gathered + (size_t)i * bytes;
    gr_comm_sum(d, m->node->base.tree, n, m->machines, term, 1, &out);
  }
  return run_local(m, GR_BROADCAST, d, n, out, out);
}

// Sums several pieces that together fit into a chunk as one message.
static gr_status sum_packed(gr_machines *m, gr_dtype d, int n, const gr_comm_piece *piece) {
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
static gr_status sum_piece(gr_machines *m, gr_dtype d, int64_t count, const char *in, char *out) {
  size_t size = gr_dtypes[d].size;
  int64_t most = GR_SHARED_CHUNK / (int64_t)size;
  for (int64_t begin = 0; begin < count; begin += most)
    GR_TRY(sum_chunk(m, d, count - begin < most ? count - begin : most, in + (size_t)begin * size,
                     out ? out + (size_t)begin * size : m->spare));
  return GR_OK;
}

static gr_status all_reduce(gr_machines *m, gr_dtype d, int n, const gr_comm_piece *piece) {
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

static gr_status reduce_scatter(gr_machines *m, gr_dtype d, const gr_comm_piece *p) {
  size_t bytes = (size_t)p->count * gr_dtypes[d].size;
  for (int r = 0; r < m->ranks; r++)
    GR_TRY(sum_piece(m, d, p->count, (const char *)p->in + (size_t)r * bytes,
                     r == m->rank ? p->out : NULL));
  return GR_OK;
}

// ---- Copies -------------------------------------------------------------------------------------

// Gathers `bytes` bytes of every rank, of which a machine's fit into a chunk, and stores rank r's
// at out + r * stride.
static gr_status gather_chunk(gr_machines *m, size_t bytes, const char *in, char *out,
                              size_t stride) {
  size_t of_machine = bytes * (size_t)m->most;
  GR_TRY(run_local(m, GR_ALL_GATHER, GR_U8, (int64_t)bytes, in, m->spare));
  if (is_leader(m)) GR_TRY(m->ops->gather(m->link, m->spare, of_machine, m->gathered));
  GR_TRY(run_local(m, GR_BROADCAST, GR_U8, (int64_t)(of_machine * (size_t)m->machines), m->gathered,
                   m->gathered));
  for (int i = 0; i < m->machines * m->most; i++)
    if (m->rank_of[i] >= 0)
      memcpy(out + (size_t)m->rank_of[i] * stride, m->gathered + (size_t)i * bytes, bytes);
  return GR_OK;
}

static gr_status all_gather(gr_machines *m, size_t bytes, const char *in, char *out) {
  size_t most = GR_SHARED_CHUNK / (size_t)m->most;
  for (size_t begin = 0; begin < bytes; begin += most)
    GR_TRY(gather_chunk(m, bytes - begin < most ? bytes - begin : most, in + begin, out + begin,
                        bytes));
  return GR_OK;
}

static gr_status broadcast(gr_machines *m, size_t bytes, const void *in, char *out) {
  if (is_leader(m)) {
    if (m->rank == 0 && in != out) memcpy(out, in, bytes);
    GR_TRY(m->ops->spread(m->link, out, bytes));
  }
  return run_local(m, GR_BROADCAST, GR_U8, (int64_t)bytes, out, out);
}

static gr_status barrier(gr_machines *m) {
  char nothing = 0;
  GR_TRY(run_local(m, GR_BARRIER, GR_U8, 0, NULL, NULL));
  if (is_leader(m)) GR_TRY(m->ops->gather(m->link, &nothing, 1, m->gathered));
  return run_local(m, GR_BARRIER, GR_U8, 0, NULL, NULL);
}

// ---- Dispatch -----------------------------------------------------------------------------------

// A machine's ranks must be a subtree of all ranks.
static gr_status check_tree(const gr_machines *m) {
  bool fits = m->machines * m->most == m->ranks && !(m->most & (m->most - 1));
  for (int i = 0; i < m->ranks && fits; i++) fits = m->rank_of[i] == i;
  if (fits) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "training.numerics=canonical adds up over ranks as a binary tree, of which "
              "the ranks of each of these %d machines are no part",
              m->machines),
      "1, 2, 4, ... ranks on each machine, as many on all, numbered machine by machine; "
      "or training.numerics=native");
}

gr_status gr_machines_run(gr_machines *m, gr_collective kind, gr_dtype d, int n,
                          const gr_comm_piece *piece) {
  GR_TRY(gr_shared_status(m->node));
  if (m->node->base.tree && kind != GR_BARRIER) GR_TRY(check_tree(m));
  if (kind == GR_ALL_REDUCE) return all_reduce(m, d, n, piece);
  if (kind == GR_BARRIER) return barrier(m);
  for (int i = 0; i < n; i++) {
    const gr_comm_piece *p = &piece[i];
    size_t bytes = (size_t)p->count * gr_dtypes[d].size;
    GR_TRY(kind == GR_REDUCE_SCATTER ? reduce_scatter(m, d, p)
           : kind == GR_ALL_GATHER   ? all_gather(m, bytes, p->in, p->out)
                                     : broadcast(m, bytes, p->in, p->out));
  }
  return GR_OK;
}
