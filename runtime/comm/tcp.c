// tcp.c - the communicator whose ranks are processes that found each other by the store of rank 0,
// without MPI: started by torchrun, by srun, or by hand. See comm.h.
//
// The ranks of a machine communicate by shared memory (shared.h); where the system does not allow
// sharing, as between containers, each rank counts as a machine of its own. Machines communicate by
// TCP connections of their first ranks (machines.h, tcp_link.c). If all ranks are on one machine,
// the store is closed as soon as they share memory, and nothing listens on the network.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/pages.h"
#include "runtime/comm/tcp_parts.h"

static gr_status run(gr_comm *c, gr_collective kind, gr_dtype d, int n,
                     const gr_comm_piece *piece) {
  gr_tcp *m = (gr_tcp *)c;
  m->node.base.tree = c->tree;
  if (m->machines == 1) return gr_shared_run(&m->node.base, kind, d, n, piece);
  pthread_mutex_lock(&m->node.world->between);
  gr_status s = gr_machines_run(&m->far, kind, d, n, piece);
  if (s) gr_tcp_report_abort(m);
  pthread_mutex_unlock(&m->node.world->between);
  return s;
}

static gr_status check(gr_comm *c) { return gr_shared_check(&((gr_tcp *)c)->node.base); }

static gr_status watch(gr_comm *c, double silence_s) {
  gr_tcp *m = (gr_tcp *)c;
  const gr_comm_slot *dead = gr_shared_find_dead(&m->node);
  if (dead)
    return gr_fail(GR_ERR_RANK, GR_NOWHERE, GR_RANK_DIED "its process %d is gone", dead->rank,
                   atomic_load(&dead->pid));
  GR_TRY(gr_shared_watch(&m->node, silence_s));
  gr_status s =
      m->store ? gr_store_watch(m->store, silence_s, atomic_load(&m->node.block->heard)) : GR_OK;
  if (gr_status_code(s) == GR_ERR_HANG)
    gr_comm_status_abort(&m->node.block->status, GR_ERR_HANG, 0, "%s", gr_status_text(s));
  return s;
}

static void abort_all(gr_comm *c, const char *why) {
  gr_shared *node = &((gr_tcp *)c)->node;
  gr_shared_abort(&node->base, why);
  if (pthread_mutex_trylock(&node->world->between)) return;
  gr_tcp_report_abort((gr_tcp *)c);
  pthread_mutex_unlock(&node->world->between);
}

static gr_status alloc_shared(gr_comm *c, size_t bytes, void **out) {
  gr_tcp *w = ((gr_tcp *)c)->world;
  return gr_allocations_add(&w->allocations, &w->base, &w->node, bytes, out);
}

// ---- Closing ------------------------------------------------------------------------------------

static void discard(gr_tcp *m) {
  gr_tcp_disconnect(m);
  gr_allocations_free(m->allocations, m->base.ranks);
  gr_pages_free(m->block, m->block_bytes);
  gr_machines_close(&m->far);
  gr_store_close(m->store);
  free(m->place);
  free(m);
}

// The barrier keeps a rank from leaving while others still read its memory; after a failure it
// returns at once.
static void release(gr_comm *c) {
  gr_tcp *m = (gr_tcp *)c;
  if (!m) return;
  gr_status_drop(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
  gr_shared_leave(&m->node);
  discard(m);
}

// ---- Members and machines -----------------------------------------------------------------------

// The members of a communicator by machine, for gr_machines_open. Machines are in the order of
// their first members.
typedef struct grouping {
  int machines, most, machine, local;  // machine: this member's; local: its number there
  int *machine_of;                     // by member
  int *rank_of;                        // [machine * most + local]
  int *leader;                         // by machine: the first member's world rank
} grouping;

// key: for each member, a number that the members of one machine share. world: for each member, its
// rank in the world. All memory is the arena's.
static grouping group(gr_arena *a, const int *key, const int *world, int ranks, int rank) {
  grouping g = {.machine_of = GR_NEW(a, int, ranks), .leader = GR_NEW(a, int, ranks)};
  int *first = GR_NEW(a, int, ranks), *members = GR_NEW(a, int, ranks);
  int *local = GR_NEW(a, int, ranks);
  for (int r = 0; r < ranks; r++) {
    int i = 0;
    while (i < g.machines && key[first[i]] != key[r]) i++;
    if (i == g.machines) first[g.machines] = r, g.leader[g.machines++] = world[r];
    g.machine_of[r] = i, local[r] = members[i]++;
    if (members[i] > g.most) g.most = members[i];
  }
  g.machine = g.machine_of[rank], g.local = local[rank];
  g.rank_of = GR_NEW(a, int, g.machines *g.most);
  for (int i = 0; i < g.machines * g.most; i++) g.rank_of[i] = -1;
  for (int r = 0; r < ranks; r++) g.rank_of[g.machine_of[r] * g.most + local[r]] = r;
  return g;
}

static int members_of(const grouping *g, int machine) {
  int n = 0;
  for (int k = 0; k < g->most; k++) n += g->rank_of[machine * g->most + k] >= 0;
  return n;
}

// On the first member of a machine: makes the block that its members will map.
static gr_status offer_block(gr_tcp *m, const grouping *g, int32_t offer[GR_PAGES_OFFER]) {
  m->block_bytes = gr_shared_bytes(members_of(g, g->machine));
  for (int i = 0; i < GR_PAGES_OFFER; i++) offer[i] = -1;
  return g->local ? GR_OK : gr_pages_make(m->block_bytes, &m->block, offer);
}

static void map_block(gr_tcp *m, const grouping *g, const int32_t *offers) {
  int leader = g->rank_of[g->machine * g->most];
  if (g->local) m->block = gr_pages_map(offers + leader * GR_PAGES_OFFER, m->block_bytes);
}

static gr_status join_block(gr_tcp *m, const grouping *g, double timeout_s) {
  gr_shared_join(&m->node, m->block, g->local, members_of(g, g->machine), m->world_rank,
                 (int)getpid(), m->world == m ? NULL : &m->world->node, timeout_s,
                 m->world->oversubscribed);
  m->machines = g->machines, m->machine = g->machine;
  if (m->world != m)  // the world's are those of the real machine, also where that shares no memory
    m->base.local_rank = g->local, m->base.local_ranks = members_of(g, g->machine);
  if (m->machines == 1) return GR_OK;
  m->node.poll = gr_tcp_poll_aborts;
  return gr_machines_open(&m->far, &m->node, &gr_tcp_link, m, m->base.rank, g->machines, g->most,
                          g->rank_of);
}

// ---- Splitting ----------------------------------------------------------------------------------

static gr_status split(gr_comm *, int colour, int key, gr_comm **out);
static const gr_comm_vtable vtable = {.backend = "tcp",
                                      .run = run,
                                      .split = split,
                                      .alloc_shared = alloc_shared,
                                      .check = check,
                                      .abort = abort_all,
                                      .close = release,
                                      .watch = watch};

static gr_tcp *create(gr_tcp *world, int rank, int ranks, uint64_t id) {
  gr_tcp *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->base = (gr_comm){.ops = &vtable, .rank = rank, .ranks = ranks};
  m->world = world ? world : m;
  m->world_rank = world ? world->world_rank : rank;
  m->id = id;
  m->listening = -1;
  return m;
}

// The members with this rank's colour, by key and then by rank: their ranks in the parent.
static int find_members(const int32_t *all, int ranks, int colour, int *member) {
  int n = 0;
  for (int r = 0; r < ranks; r++) {
    if (all[3 * r] != colour) continue;
    int i = n++;
    for (; i && all[3 * member[i - 1] + 1] > all[3 * r + 1]; i--) member[i] = member[i - 1];
    member[i] = r;
  }
  return n;
}

// Opens the part whose members are these ranks of the parent. Collective over the parent.
static gr_status open_part(gr_arena *a, gr_comm *parent, gr_tcp *m, const int32_t *all,
                           const int *member) {
  int n = m->base.ranks;
  int *key = GR_NEW(a, int, n), *world = GR_NEW(a, int, n);
  for (int i = 0; i < n; i++)
    world[i] = all[3 * member[i] + 2], key[i] = m->world->place[world[i]].machine;
  grouping g = group(a, key, world, n, m->base.rank);
  int32_t offer[GR_PAGES_OFFER], *group_offers = GR_NEW(a, int32_t, n * GR_PAGES_OFFER), failed,
                                 any;
  int32_t *offers = GR_NEW(a, int32_t, parent->ranks * GR_PAGES_OFFER);
  GR_TRY(offer_block(m, &g, offer));
  GR_TRY(gr_comm_run(parent, GR_ALL_GATHER, GR_I32, GR_PAGES_OFFER, offer, offers));
  for (int i = 0; i < n; i++)
    memcpy(group_offers + i * GR_PAGES_OFFER, offers + member[i] * GR_PAGES_OFFER, sizeof offer);
  map_block(m, &g, group_offers);
  failed = !m->block;
  gr_status s = gr_comm_run(parent, GR_ALL_REDUCE, GR_I32, 1, &failed, &any);
  gr_pages_close_offer(offer);
  if (s) return s;
  if (any) return gr_pages_refused();
  GR_TRY(join_block(m, &g, ((gr_tcp *)parent)->node.timeout_s));
  GR_TRY(gr_comm_run(parent, GR_BARRIER, GR_I32, 0, NULL, NULL));
  return g.machines > 1 && !g.local ? gr_tcp_connect(m, g.leader) : GR_OK;
}

static gr_status split(gr_comm *c, int colour, int key, gr_comm **out) {
  gr_tcp *parent = (gr_tcp *)c, *m;
  gr_arena *a = gr_arena_create();
  int32_t request[3] = {colour, key, parent->world_rank}, *all = GR_NEW(a, int32_t, 3 * c->ranks);
  int *member = GR_NEW(a, int, c->ranks), rank = 0;
  uint64_t part[3] = {parent->id, (uint64_t)parent->splits++, (uint64_t)(uint32_t)colour};
  *out = NULL;
  gr_status s = gr_comm_run(c, GR_ALL_GATHER, GR_I32, 3, request, all);
  int n = s ? 0 : find_members(all, c->ranks, colour, member);
  while (rank < n && member[rank] != c->rank) rank++;
  m = s ? NULL : create(parent->world, rank, n, gr_hash_bytes(GR_HASH_START, part, sizeof part));
  if (!s && !m) s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  s = s ? s : open_part(a, c, m, all, member);
  gr_arena_destroy(a);
  if (!s)
    *out = &m->base;
  else if (m)
    discard(m);
  return s;
}

// ---- Opening the world --------------------------------------------------------------------------

typedef struct identity {  // what a rank says of itself
  char machine[80];        // equal only on one machine: its boot, and its network name
  cpu_set_t processors;
} identity;

static void identify(identity *me, int rank, int ranks_per_machine) {
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
  char host[32] = "";
  memset(me, 0, sizeof *me);
  if (f && !fgets(me->machine, 40, f)) *me->machine = 0;
  if (f) fclose(f);
  gethostname(host, sizeof host - 1);
  size_t used = strcspn(me->machine, "\n");
  int part = ranks_per_machine > 0 ? rank / ranks_per_machine : 0;
  snprintf(me->machine + used, sizeof me->machine - used, "/%s/%d", host, part);
  sched_getaffinity(0, sizeof me->processors, &me->processors);  // on failure waiters yield
}

// Gives every rank its machine's key, and unites the affinity masks of this rank's machine, because
// some launchers bind each rank to its own processor.
static gr_status find_machines(gr_arena *a, gr_tcp *m, int ranks_per_machine, int *key) {
  identity self, *all = GR_NEW(a, identity, m->base.ranks);
  cpu_set_t together;
  int local = 0;
  identify(&self, m->base.rank, ranks_per_machine);
  GR_TRY(gr_store_gather(m->store, "machines", &self, sizeof self, all));
  CPU_ZERO(&together);
  for (int r = 0; r < m->base.ranks; r++) {
    for (key[r] = 0; strcmp(all[key[r]].machine, all[r].machine);) key[r]++;
    if (strcmp(all[r].machine, self.machine)) continue;
    CPU_OR(&together, &together, &all[r].processors);
    if (r == m->base.rank) m->base.local_rank = local;
    local++;
  }
  m->base.local_ranks = local;
  m->oversubscribed = CPU_COUNT(&together) < local;
  return GR_OK;
}

// Maps the blocks by the machines of `key`. *all: every rank could; otherwise no rank keeps its
// block, and the key of each rank on a machine that does not allow it becomes its own.
static gr_status open_blocks(gr_arena *a, gr_tcp *m, const char *step, int *key, grouping *g,
                             bool *all) {
  int n = m->base.ranks, *world = GR_NEW(a, int, n);
  int32_t offer[GR_PAGES_OFFER], *offers = GR_NEW(a, int32_t, n * GR_PAGES_OFFER);
  char *mapped = GR_NEW(a, char, n), mapped_here;
  for (int r = 0; r < n; r++) world[r] = r;
  *g = group(a, key, world, n, m->base.rank);
  GR_TRY(offer_block(m, g, offer));
  GR_TRY(
      gr_store_gather(m->store, gr_arena_printf(a, "%s/offer", step), offer, sizeof offer, offers));
  map_block(m, g, offers);
  mapped_here = m->block != NULL;
  gr_status s =
      gr_store_gather(m->store, gr_arena_printf(a, "%s/mapped", step), &mapped_here, 1, mapped);
  gr_pages_close_offer(offer);
  if (s) return s;
  *all = !memchr(mapped, 0, (size_t)n);
  if (*all) return GR_OK;
  gr_pages_free(m->block, m->block_bytes);
  m->block = NULL;
  bool *alone = GR_NEW(a, bool, n);
  for (int r = 0; r < n; r++) alone[g->machine_of[r]] |= !mapped[r];
  for (int r = 0; r < n; r++)
    if (alone[g->machine_of[r]]) key[r] = n + r;
  return GR_OK;
}

static gr_status open_places(gr_tcp *m, const grouping *g) {
  gr_tcp_place place = {.machine = g->machine};
  m->place = calloc((size_t)m->base.ranks, sizeof *m->place);
  if (!m->place) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d ranks", m->base.ranks);
  if (g->machines > 1) GR_TRY(gr_tcp_listen(m, &place));
  return gr_store_gather(m->store, "places", &place, sizeof place, m->place);
}

static gr_status open_all(gr_arena *a, gr_tcp *m, int ranks_per_machine) {
  int *key = GR_NEW(a, int, m->base.ranks);
  grouping g;
  bool mapped = false;
  GR_TRY(find_machines(a, m, ranks_per_machine, key));
  GR_TRY(open_blocks(a, m, "1", key, &g, &mapped));
  if (!mapped) GR_TRY(open_blocks(a, m, "2", key, &g, &mapped));
  if (!mapped) return gr_pages_refused();
  GR_TRY(open_places(m, &g));
  GR_TRY(join_block(m, &g, m->opt.timeout_s));
  GR_TRY(gr_store_barrier(m->store, "open"));
  if (g.machines > 1) GR_TRY(gr_store_open_watch(m->store));
  if (g.machines > 1) return g.local ? GR_OK : gr_tcp_connect(m, g.leader);
  gr_store_close(m->store);
  m->store = NULL;
  return GR_OK;
}

gr_status gr_tcp_open(const gr_store_options *o, int ranks_per_machine, gr_comm **out) {
  *out = NULL;
  gr_tcp *m = create(NULL, o->rank, o->ranks, GR_HASH_START);
  if (!m) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a communicator");
  m->opt = *o;
  gr_status s = gr_store_open(o, &m->store);
  gr_arena *a = gr_arena_create();
  s = s ? s : open_all(a, m, ranks_per_machine);
  gr_arena_destroy(a);
  if (!s) {
    *out = &m->base;
    return GR_OK;
  }
  gr_store_failure f = {.code = GR_ERR_RANK, .rank = o->rank};
  snprintf(f.why, sizeof f.why, "rank %d has failed: %.400s", o->rank, gr_status_text(s));
  if (m->store && gr_status_code(s) != GR_ERR_RANK) gr_store_fail(m->store, &f);
  discard(m);
  return s;
}
