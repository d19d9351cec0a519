// mpi.c - the communicator whose ranks are MPI processes (MPI-3.0). See comm.h. Module "mpi".
//
// The ranks of a machine communicate by shared memory (shared.h), not by MPI; where the system does
// not allow sharing, each rank counts as a machine of its own. Across machines a sum has two
// levels: within each machine, then over the machines in order, so that every rank gets the same
// bits (machines.h). Leaders use MPI's nonblocking collectives, so that a dead or silent peer is an
// error and not a hang.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime/comm/comm.h"
#include "runtime/comm/mpi_parts.h"
#include "runtime/comm/pages.h"

static gr_status run(gr_comm *c, gr_collective kind, gr_dtype d, int n,
                     const gr_comm_piece *piece) {
  gr_mpi *m = (gr_mpi *)c;
  m->node.base.tree = c->tree;
  if (m->machines == 1) return gr_shared_run(&m->node.base, kind, d, n, piece);
  pthread_mutex_lock(&m->node.world->between);
  gr_status s = gr_machines_run(&m->far, kind, d, n, piece);
  if (s) gr_mpi_report_abort(m);
  pthread_mutex_unlock(&m->node.world->between);
  return s;
}

static gr_status check(gr_comm *c) { return gr_shared_check(&((gr_mpi *)c)->node.base); }

// mpirun notices ranks that have died.
static gr_status watch(gr_comm *c, double silence_s) {
  return gr_shared_watch(&((gr_mpi *)c)->node, silence_s);
}

static void abort_all(gr_comm *c, const char *why) {
  gr_shared *node = &((gr_mpi *)c)->node;
  gr_shared_abort(&node->base, why);
  if (pthread_mutex_trylock(&node->world->between)) return;
  gr_mpi_report_abort((gr_mpi *)c);
  pthread_mutex_unlock(&node->world->between);
}

// ---- Opening and closing --------------------------------------------------------------

static gr_status split(gr_comm *, int colour, int key, gr_comm **out);
static gr_status alloc_shared(gr_comm *, size_t bytes, void **out);
static void release(gr_comm *);
static const gr_comm_vtable vtable = {.backend = "mpi",
                                      .run = run,
                                      .split = split,
                                      .alloc_shared = alloc_shared,
                                      .check = check,
                                      .abort = abort_all,
                                      .close = release,
                                      .watch = watch};

// Sets m->local to the members on this machine. The world decides what a machine is
// (ranks_per_machine > 0: so many consecutive ranks); a communicator split from it follows.
static gr_status open_local(gr_mpi *m, int ranks_per_machine, int *rank, int *ranks) {
  if (m->world == m)
    MPI_TRY(
        MPI_Comm_split_type(m->all, MPI_COMM_TYPE_SHARED, m->base.rank, MPI_INFO_NULL, &m->local));
  else
    MPI_TRY(MPI_Comm_split(m->all, m->world->node.block->slot[0].rank, m->base.rank, &m->local));
  MPI_TRY(MPI_Comm_rank(m->local, rank));
  if (ranks_per_machine > 0) {
    MPI_Comm whole = m->local;
    MPI_TRY(MPI_Comm_split(whole, *rank / ranks_per_machine, *rank, &m->local));
    MPI_TRY(MPI_Comm_free(&whole));
    MPI_TRY(MPI_Comm_rank(m->local, rank));
  }
  MPI_TRY(MPI_Comm_set_errhandler(m->local, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_size(m->local, ranks));
  return GR_OK;
}

// Maps the block that the ranks of m->local share; the first of them creates it. *all: every rank
// could map it; otherwise no rank keeps it.
static gr_status open_block(gr_mpi *m, int rank, int ranks, int *all) {
  int32_t offer[GR_PAGES_OFFER];
  m->block_bytes = gr_shared_bytes(ranks);
  if (rank == 0) GR_TRY(gr_pages_make(m->block_bytes, &m->block, offer));
  MPI_TRY(MPI_Bcast(offer, GR_PAGES_OFFER, MPI_INT32_T, 0, m->local));
  if (rank) m->block = gr_pages_map(offer, m->block_bytes);
  int made = m->block != NULL;
  MPI_TRY(MPI_Allreduce(&made, all, 1, MPI_INT, MPI_MIN, m->local));
  if (rank == 0) gr_pages_close_offer(offer);
  if (*all) return GR_OK;
  gr_pages_free(m->block, m->block_bytes);
  m->block = NULL;
  return GR_OK;
}

// The ranks of each machine, by machine: what gr_machines_open takes.
static gr_status open_far(gr_mpi *m, int rank, int machine) {
  int place[2] = {machine, rank}, all[2 * m->base.ranks], most = 0;
  MPI_TRY(MPI_Allgather(place, 2, MPI_INT, all, 2, MPI_INT, m->all));
  for (int r = 0; r < m->base.ranks; r++)
    if (all[2 * r + 1] >= most) most = all[2 * r + 1] + 1;
  int rank_of[m->machines * most];
  for (int i = 0; i < m->machines * most; i++) rank_of[i] = -1;
  for (int r = 0; r < m->base.ranks; r++) rank_of[all[2 * r] * most + all[2 * r + 1]] = r;
  m->node.poll = gr_mpi_poll_aborts;
  return gr_machines_open(&m->far, &m->node, &gr_mpi_link, m, m->base.rank, m->machines, most,
                          rank_of);
}

static gr_status open_leaders(gr_mpi *m, int rank) {
  int leader = rank == 0, machine = 0;
  MPI_TRY(MPI_Allreduce(&leader, &m->machines, 1, MPI_INT, MPI_SUM, m->all));
  MPI_TRY(MPI_Comm_split(m->all, leader ? 0 : MPI_UNDEFINED, m->base.rank, &m->leaders));
  if (m->machines == 1) return GR_OK;
  if (leader) {
    MPI_TRY(MPI_Comm_set_errhandler(m->leaders, MPI_ERRORS_RETURN));
    MPI_TRY(MPI_Comm_rank(m->leaders, &machine));
  }
  MPI_TRY(MPI_Bcast(&machine, 1, MPI_INT, 0, m->local));
  return open_far(m, rank, machine);
}

// Sets m->oversubscribed: this machine's ranks outnumber their processors. The affinity masks are
// united first, because some launchers bind each rank to its own processor.
static gr_status find_oversubscribed(gr_mpi *m, int ranks) {
  cpu_set_t processors, all;
  CPU_ZERO(&processors);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof processors,
                    &processors);  // on failure the mask is empty, and waiters yield
  MPI_TRY(MPI_Allreduce(&processors, &all, sizeof processors, MPI_BYTE, MPI_BOR, m->local));
  m->oversubscribed = CPU_COUNT(&all) < ranks;
  return GR_OK;
}

static gr_status open_all(gr_mpi *m, double timeout_s, int ranks_per_machine) {
  int rank, ranks, shared;
  m->base.ops = &vtable;
  MPI_TRY(MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_rank(m->all, &m->base.rank));
  MPI_TRY(MPI_Comm_size(m->all, &m->base.ranks));
  GR_TRY(open_local(m, ranks_per_machine, &rank, &ranks));
  m->oversubscribed = m->world->oversubscribed;
  if (m->world == m) {
    m->world_rank = m->base.rank;
    MPI_TRY(MPI_Comm_dup(m->all, &m->wire));
    GR_TRY(find_oversubscribed(m, ranks));
  }
  GR_TRY(open_block(m, rank, ranks, &shared));
  if (!shared && m->world == m) {  // treat each rank as a machine of its own
    MPI_TRY(MPI_Comm_free(&m->local));
    GR_TRY(open_local(m, 1, &rank, &ranks));
    GR_TRY(open_block(m, rank, ranks, &shared));
  }
  if (!shared) return gr_pages_refused();
  m->base.local_rank = rank, m->base.local_ranks = ranks;
  GR_TRY(open_leaders(m, rank));
  gr_shared_join(&m->node, m->block, rank, ranks, m->world_rank, (int)getpid(),
                 m->world == m ? NULL : &m->world->node, timeout_s, m->oversubscribed);
  MPI_TRY(MPI_Barrier(m->local));
  return GR_OK;
}

static void discard(gr_mpi *m) {
  gr_allocations_free(m->allocations, m->base.ranks);
  gr_pages_free(m->block, m->block_bytes);
  gr_machines_close(&m->far);
  free(m);
}

// world: NULL when this communicator becomes the world.
static gr_status create(MPI_Comm all, gr_mpi *world, double timeout_s, int ranks_per_machine,
                        gr_mpi **out) {
  gr_mpi *m = calloc(1, sizeof *m);
  if (!m) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  m->all = all;
  m->local = m->leaders = m->wire = MPI_COMM_NULL;
  m->world = world ? world : m;
  m->world_rank = world ? world->world_rank : 0;
  m->base.own_thread = world && world->base.own_thread;
  gr_status s = open_all(m, timeout_s, ranks_per_machine);
  if (s)
    discard(m);
  else
    *out = m;
  return s;
}

// The barrier finds dead members first: MPI_Comm_free and MPI_Finalize are collective and would
// wait for them, so after a failure they are left out.
static void release(gr_comm *c) {
  gr_mpi *m = (gr_mpi *)c;
  if (!m) return;
  gr_status dead = gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
  gr_shared_leave(&m->node);
  if (!dead) {
    if (m->finalize) gr_mpi_show_names();
    if (m->finalize) MPI_Barrier(m->all);
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
  const gr_mpi *parent = (gr_mpi *)c;
  MPI_Comm part;
  *out = NULL;
  // The barrier finds dead members; MPI_Comm_split would wait for them.
  GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
  MPI_TRY(MPI_Comm_split(parent->all, colour, key, &part));
  gr_mpi *m;
  GR_TRY(create(part, parent->world, parent->node.timeout_s, 0, &m));
  *out = &m->base;
  return GR_OK;
}

static gr_status alloc_shared(gr_comm *c, size_t bytes, void **out) {
  gr_mpi *w = ((gr_mpi *)c)->world;
  return gr_allocations_add(&w->allocations, &w->base, &w->node, bytes, out);
}

// Open MPI spins in MPI_Init where there are as many processors as ranks, though other programs may
// have them. What takes long, ranks of a machine do by memory of their own, and others by tests of
// requests between which they yield: nothing waits in MPI. The user's own setting wins.
static void yield_while_starting(void) { setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); }

static gr_status start(bool *out_here, bool *any_thread) {
  int there = 0, gone = 0, level;
  MPI_TRY(MPI_Finalized(&gone));
  if (gone)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                   "MPI has been shut down, and can be started only once");
  MPI_TRY(MPI_Initialized(&there));
  *out_here = !there;
  if (!there) yield_while_starting();
  if (!there) MPI_TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level));
  MPI_TRY(MPI_Query_thread(&level));
  *any_thread = level >= MPI_THREAD_SERIALIZED;
  return GR_OK;
}

static gr_status open_world(double timeout_s, int ranks_per_machine, gr_comm **out) {
  bool here = false, any_thread = false;
  MPI_Comm all;
  gr_mpi *m;
  *out = NULL;
  GR_TRY(start(&here, &any_thread));
  MPI_TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &all));
  if (here) GR_TRY(gr_mpi_hide_names());
  GR_TRY(create(all, NULL, timeout_s, ranks_per_machine, &m));
  m->finalize = here, m->base.own_thread = !any_thread;
  *out = &m->base;
  return GR_OK;
}

const gr_mpi_module gr_module = {open_world};
