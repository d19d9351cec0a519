// comm_mpi.c - ranks that are processes, by MPI (MPI-3.0). See comm.h. Module "mpi".
//
// The ranks of a machine share a window and do not use MPI between them (comm_shared.h). Across
// machines, sums go machine by machine: each machine's sum, then those in machine order, so
// that every rank has the same bits; other collectives are MPI's own, started without blocking,
// so that a dead or silent peer is an error and not a hang.
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/comm.h"
#include "runtime/comm_shared.h"
#include "runtime/comm_sum.h"

typedef struct mpi mpi;
struct mpi {
  gr_comm base;
  gr_shared node;  // this machine's members of it
  mpi *world;
  MPI_Comm all, local, leaders, wire;  // leaders: one of each machine; wire: the world's, for news
  MPI_Win window;
  int world_rank, machines;
  char *gathered;  // of leaders: one chunk for each machine
  char *spare;     // one chunk
  bool crowded, told, finalize;
};

enum { NEWS = 71 };

static gr_status failed(int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int len;
  MPI_Error_string(code, text, &len);
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s failed: %s", what, text);
}
#define MPI_TRY(call)                                      \
  do {                                                     \
    int code_ = (call);                                    \
    if (code_ != MPI_SUCCESS) return failed(code_, #call); \
  } while (0)

// ---- News from other machines -------------------------------------------------------

// Tells the ranks of other machines what has become of this one, once. What cannot be sent is
// left to their time-outs.
static void tell(mpi *m) {
  mpi *w = m->world;
  gr_fate *f = w->node.fate;
  if (w->machines == 1 || w->told || atomic_load_explicit(&f->state, memory_order_acquire) != 2)
    return;
  w->told = true;
  static gr_fate news;  // lives on while it is sent
  memcpy(news.why, f->why, sizeof news.why);
  news.code = f->code, news.rank = f->rank;
  for (int r = 0; r < w->base.ranks; r++) {
    MPI_Request request;
    if (r == w->base.rank) continue;
    if (MPI_Isend(&news, sizeof news, MPI_BYTE, r, NEWS, w->wire, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

static void listen(gr_shared *node) {
  mpi *w = ((mpi *)((char *)node - offsetof(mpi, node)))->world;
  int there = 0;
  gr_fate news;
  if (MPI_Iprobe(MPI_ANY_SOURCE, NEWS, w->wire, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS || !there)
    return;
  if (MPI_Recv(&news, sizeof news, MPI_BYTE, MPI_ANY_SOURCE, NEWS, w->wire, MPI_STATUS_IGNORE) ==
      MPI_SUCCESS)
    gr_fate_doom(w->node.fate, news.code, news.rank, "%s", news.why);
}

// Waits for a collective between machines.
static gr_status finish(mpi *m, MPI_Request *request, const char *what) {
  double begun = gr_seconds(), looked = begun;
  for (int done = 0;;) {
    for (int i = 0; i < 64 && !done; i++) {
      MPI_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
      if (!done) sched_yield();
    }
    if (done) return GR_OK;
    double now = gr_seconds();
    if (now - looked > 0.1) {
      looked = now;
      GR_TRY(gr_shared_check(&m->node.base));
    }
    if (now - begun > m->node.timeout_s)
      gr_fate_doom(m->node.fate, GR_ERR_HANG, m->world_rank,
                   "%s with the ranks of other machines did not end within %g s", what,
                   m->node.timeout_s);
    GR_TRY(gr_fate_status(m->node.fate, m->world_rank));
  }
}

// ---- Collectives over machines --------------------------------------------------------

// Sums n elements, at most a chunk, over all ranks.
static gr_status sum_chunk(mpi *m, gr_dtype d, int64_t n, const void *in, void *out) {
  GR_TRY(gr_shared_run(&m->node.base, GR_ALL_REDUCE, d, n, in, out));
  if (m->node.base.rank == 0) {
    const void *term[m->machines];
    int bytes = (int)((size_t)n * gr_dtypes[d].size);
    MPI_Request request;
    MPI_TRY(
        MPI_Iallgather(out, bytes, MPI_BYTE, m->gathered, bytes, MPI_BYTE, m->leaders, &request));
    GR_TRY(finish(m, &request, "all_reduce"));
    for (int i = 0; i < m->machines; i++) term[i] = m->gathered + (size_t)i * (size_t)bytes;
    gr_comm_sum(d, n, m->machines, term, out);
  }
  return gr_shared_run(&m->node.base, GR_BROADCAST, d, n, out, out);
}

static gr_status all_reduce(mpi *m, gr_dtype d, int64_t count, const char *in, char *out) {
  size_t size = gr_dtypes[d].size;
  int64_t most = GR_SHARED_CHUNK / (int64_t)size;
  for (int64_t at = 0; at < count; at += most)
    GR_TRY(sum_chunk(m, d, count - at < most ? count - at : most, in + (size_t)at * size,
                     out + (size_t)at * size));
  return GR_OK;
}

static gr_status reduce_scatter(mpi *m, gr_dtype d, int64_t count, const char *in, char *out) {
  size_t size = gr_dtypes[d].size;
  int64_t most = GR_SHARED_CHUNK / (int64_t)size;
  for (int r = 0; r < m->base.ranks; r++)
    for (int64_t at = 0; at < count; at += most) {
      int64_t n = count - at < most ? count - at : most;
      GR_TRY(sum_chunk(m, d, n, in + (size_t)(r * count + at) * size, m->spare));
      if (r == m->base.rank) memcpy(out + (size_t)at * size, m->spare, (size_t)n * size);
    }
  return GR_OK;
}

static gr_status run_far(mpi *m, gr_collective kind, gr_dtype d, int64_t count, const void *in,
                         void *out) {
  MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE, MPI_UINT16_T, MPI_INT32_T};
  MPI_Request request;
  GR_TRY(gr_fate_status(m->node.fate, m->world_rank));
  if (kind == GR_ALL_REDUCE) return all_reduce(m, d, count, in, out);
  if (kind == GR_REDUCE_SCATTER) return reduce_scatter(m, d, count, in, out);
  if (count > INT_MAX)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "%lld elements are too many for one message",
                   (long long)count);
  int n = (int)count;
  if (kind == GR_ALL_GATHER) {
    MPI_TRY(MPI_Iallgather(in, n, types[d], out, n, types[d], m->all, &request));
    return finish(m, &request, "all_gather");
  }
  if (kind == GR_BROADCAST) {
    if (m->base.rank == 0 && in != out) memcpy(out, in, (size_t)count * gr_dtypes[d].size);
    MPI_TRY(MPI_Ibcast(out, n, types[d], 0, m->all, &request));
    return finish(m, &request, "broadcast");
  }
  MPI_TRY(MPI_Ibarrier(m->all, &request));
  return finish(m, &request, "barrier");
}

static gr_status run(gr_comm *c, gr_collective kind, gr_dtype d, int64_t count, const void *in,
                     void *out) {
  mpi *m = (mpi *)c;
  if (m->machines == 1) return gr_shared_run(&m->node.base, kind, d, count, in, out);
  gr_status s = run_far(m, kind, d, count, in, out);
  if (s) tell(m);
  return s;
}

static gr_status check(gr_comm *c) { return gr_shared_check(&((mpi *)c)->node.base); }

static void stop(gr_comm *c, const char *why) {
  gr_shared_abort(&((mpi *)c)->node.base, why);
  tell((mpi *)c);
}

// ---- Opening and closing --------------------------------------------------------------

static gr_status split(gr_comm *, int colour, int key, gr_comm **out);
static void release(gr_comm *);
static const gr_comm_vtable does = {
    .run = run, .split = split, .check = check, .abort = stop, .close = release};

static gr_status open_groups(mpi *m, int ranks_per_machine) {
  int rank, leader, machines;
  MPI_TRY(MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_rank(m->all, &m->base.rank));
  MPI_TRY(MPI_Comm_size(m->all, &m->base.ranks));
  MPI_TRY(
      MPI_Comm_split_type(m->all, MPI_COMM_TYPE_SHARED, m->base.rank, MPI_INFO_NULL, &m->local));
  MPI_TRY(MPI_Comm_rank(m->local, &rank));
  if (ranks_per_machine > 0) {
    MPI_Comm whole = m->local;
    MPI_TRY(MPI_Comm_split(whole, rank / ranks_per_machine, rank, &m->local));
    MPI_TRY(MPI_Comm_free(&whole));
    MPI_TRY(MPI_Comm_rank(m->local, &rank));
  }
  MPI_TRY(MPI_Comm_set_errhandler(m->local, MPI_ERRORS_RETURN));
  leader = rank == 0;
  MPI_TRY(MPI_Allreduce(&leader, &machines, 1, MPI_INT, MPI_SUM, m->all));
  m->machines = machines;
  MPI_TRY(MPI_Comm_split(m->all, leader ? 0 : MPI_UNDEFINED, m->base.rank, &m->leaders));
  if (machines == 1) return GR_OK;
  m->spare = malloc(GR_SHARED_CHUNK);
  if (leader) m->gathered = malloc((size_t)machines * GR_SHARED_CHUNK);
  if (!m->spare || (leader && !m->gathered))
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to talk with %d machines", machines);
  return GR_OK;
}

// Whether a machine's ranks have fewer processors than they are, all together: some launchers
// bind each to its own.
static gr_status find_crowd(mpi *m, int ranks) {
  cpu_set_t own, all;
  CPU_ZERO(&own);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof own, &own);  // where it fails, there are none: waiting yields
  MPI_TRY(MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, m->local));
  m->crowded = CPU_COUNT(&all) < ranks;
  return GR_OK;
}

static gr_status open_window(mpi *m, double timeout_s) {
  int rank, ranks, unit;
  char *block;
  MPI_Aint size;
  MPI_TRY(MPI_Comm_rank(m->local, &rank));
  MPI_TRY(MPI_Comm_size(m->local, &ranks));
  if (m->world == m)
    GR_TRY(find_crowd(m, ranks));
  else
    m->crowded = m->world->crowded;
  size_t bytes = gr_shared_bytes(ranks);
  MPI_TRY(MPI_Win_allocate_shared(rank ? 0 : (MPI_Aint)(bytes + 4096), 1, MPI_INFO_NULL, m->local,
                                  &block, &m->window));
  MPI_TRY(MPI_Win_shared_query(m->window, 0, &size, &unit, &block));
  MPI_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, m->window));
  block += (4096 - (uintptr_t)block % 4096) % 4096;  // the same everywhere: pages are shared
  if (rank == 0) memset(block, 0, bytes);
  MPI_TRY(MPI_Barrier(m->local));
  gr_shared_join(&m->node, block, rank, ranks, m->world_rank, (int)getpid(),
                 m->world == m ? NULL : m->world->node.fate, timeout_s, m->crowded);
  if (m->machines > 1) m->node.look = listen;
  MPI_TRY(MPI_Barrier(m->local));
  return GR_OK;
}

static gr_status open_all(mpi *m, double timeout_s, int ranks_per_machine) {
  m->base.does = &does;
  GR_TRY(open_groups(m, ranks_per_machine));
  if (m->world == m) {
    m->world_rank = m->base.rank;
    MPI_TRY(MPI_Comm_dup(m->all, &m->wire));
  }
  return gr_hint(open_window(m, timeout_s), "ranks of one machine share memory in /dev/shm");
}

static void discard(mpi *m) {
  free(m->spare);
  free(m->gathered);
  free(m);
}

// world: NULL when this is to be it.
static gr_status create(MPI_Comm all, mpi *world, double timeout_s, int ranks_per_machine,
                        mpi **out) {
  mpi *m = calloc(1, sizeof *m);
  if (!m) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  m->all = all;
  m->local = m->leaders = m->wire = MPI_COMM_NULL;
  m->window = MPI_WIN_NULL;
  m->world = world ? world : m;
  m->world_rank = world ? world->world_rank : 0;
  gr_status s = open_all(m, timeout_s, ranks_per_machine);
  if (s)
    discard(m);
  else
    *out = m;
  return s;
}

// Only once all members have come here: freeing is collective, and would wait for the dead.
static void release(gr_comm *c) {
  mpi *m = (mpi *)c;
  if (!m) return;
  gr_status dead = run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
  gr_shared_leave(&m->node);
  if (!dead) {
    MPI_Win_unlock_all(m->window);
    MPI_Win_free(&m->window);
    if (m->leaders != MPI_COMM_NULL) MPI_Comm_free(&m->leaders);
    if (m->wire != MPI_COMM_NULL) MPI_Comm_free(&m->wire);
    MPI_Comm_free(&m->local);
    MPI_Comm_free(&m->all);
    if (m->finalize) MPI_Finalize();
  }
  gr_status_drop(dead);
  discard(m);
}

static gr_status split(gr_comm *c, int colour, int key, gr_comm **out) {
  const mpi *parent = (mpi *)c;
  MPI_Comm part;
  *out = NULL;
  GR_TRY(run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));  // finds the dead; MPI would wait for them
  MPI_TRY(MPI_Comm_split(parent->all, colour, key, &part));
  mpi *m;
  GR_TRY(create(part, parent->world, parent->node.timeout_s, 0, &m));
  *out = &m->base;
  return GR_OK;
}

static gr_status start(bool *out_here) {
  int there = 0, gone = 0, level;
  MPI_TRY(MPI_Finalized(&gone));
  if (gone) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "MPI has been shut down: it starts once");
  MPI_TRY(MPI_Initialized(&there));
  *out_here = !there;
  if (!there) MPI_TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
  return GR_OK;
}

static gr_status open_world(double timeout_s, int ranks_per_machine, gr_comm **out) {
  bool here;
  MPI_Comm all;
  mpi *m;
  *out = NULL;
  GR_TRY(start(&here));
  MPI_TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &all));
  GR_TRY(create(all, NULL, timeout_s, ranks_per_machine, &m));
  m->finalize = here;
  *out = &m->base;
  return GR_OK;
}

const gr_mpi_module gr_module = {open_world};
