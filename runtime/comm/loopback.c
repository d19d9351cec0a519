// loopback.c - the communicator whose ranks are threads of this process. See comm.h.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/thread.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/shared.h"

// The members of one communicator and the block they share. The first rank to arrive at a split
// creates the group; groups live as long as the loopback.
typedef struct group group;
typedef struct member {
  gr_shared shared;
  group *group;
} member;
struct group {
  gr_loopback *owner;
  group *older;
  const group *parent;
  uint64_t call;  // number of the parent's collective that split this group off
  int colour, ranks;
  void *block;
  member *members;
};
// Memory from alloc_shared. It is freed with the loopback, because a peer may still be reading it
// when its owner is done.
typedef struct allocation {
  struct allocation *older;
  gr_region region;
  void *block;
  char *memory[];
} allocation;
struct gr_loopback {
  pthread_mutex_t lock;
  double timeout_s;
  group *groups, *world;    // groups: newest first
  allocation *allocations;  // newest first
};

static gr_status split(gr_comm *, int colour, int key, gr_comm **out);
static gr_status alloc_shared(gr_comm *, size_t bytes, void **out);
static void close_member(gr_comm *c) {
  if (c) gr_shared_leave((gr_shared *)c);
}
static const gr_comm_vtable vtable = {.backend = "threads",
                                      .run = gr_shared_run,
                                      .split = split,
                                      .alloc_shared = alloc_shared,
                                      .check = gr_shared_check,
                                      .abort = gr_shared_abort,
                                      .close = close_member};

// world_rank: each member's rank in the world; NULL: this group is the world.
static gr_status create_group(gr_loopback *l, int ranks, const int *world_rank, group **out) {
  group *g = calloc(1, sizeof *g);
  size_t bytes = gr_shared_bytes(ranks);
  void *block = aligned_alloc(4096, bytes);
  member *members = calloc((size_t)ranks, sizeof *members);
  if (!g || !block || !members) {
    free(g), free(block), free(members);
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d ranks", ranks);
  }
  memset(block, 0, bytes);
  int threads = l->world ? l->world->ranks : ranks;
  *g = (group){.owner = l, .older = l->groups, .ranks = ranks, .block = block, .members = members};
  for (int r = 0; r < ranks; r++) {
    int rank = world_rank ? world_rank[r] : r;
    members[r].group = g;
    gr_shared_join(&members[r].shared, block, r, ranks, rank, 0,
                   l->world ? &l->world->members[rank].shared : NULL, l->timeout_s,
                   threads > gr_processors());
    members[r].shared.base.ops = &vtable;
  }
  l->groups = *out = g;
  return GR_OK;
}

static gr_status find_or_create(const member *m, int colour, int ranks, const int *world_rank,
                                group **out) {
  gr_loopback *l = m->group->owner;
  gr_status s = GR_OK;
  pthread_mutex_lock(&l->lock);
  for (*out = l->groups; *out; *out = (*out)->older)
    if ((*out)->parent == m->group && (*out)->call == m->shared.calls && (*out)->colour == colour)
      break;
  if (!*out && !(s = create_group(l, ranks, world_rank, out)))
    (*out)->parent = m->group, (*out)->call = m->shared.calls, (*out)->colour = colour;
  pthread_mutex_unlock(&l->lock);
  return s;
}

static gr_status split(gr_comm *c, int colour, int key, gr_comm **out) {
  const member *m = (member *)c;
  int32_t request[2] = {colour, key}, all[2 * c->ranks];
  int order[c->ranks], ranks = 0, place = -1;
  *out = NULL;
  GR_TRY(gr_comm_run(c, GR_ALL_GATHER, GR_I32, 2, request, all));
  for (int r = 0; r < c->ranks; r++) {  // by key, then by rank: an insertion sort
    if (all[2 * r] != colour) continue;
    int i = ranks++;
    for (; i && all[2 * order[i - 1] + 1] > all[2 * r + 1]; i--) order[i] = order[i - 1];
    order[i] = r;
  }
  for (int i = 0; i < ranks; i++) {
    if (order[i] == c->rank) place = i;
    order[i] = m->shared.block->slot[order[i]].rank;
  }
  group *g;
  GR_TRY(find_or_create(m, colour, ranks, order, &g));
  *out = &g->members[place].shared.base;
  return GR_OK;
}

static gr_status alloc_shared(gr_comm *c, size_t bytes, void **out) {
  gr_shared *world = ((gr_shared *)c)->world;
  gr_loopback *l = ((member *)c)->group->owner;
  int ranks = world->base.ranks;
  allocation *t = calloc(1, sizeof *t + sizeof *t->memory * (size_t)ranks);
  void *block = gr_large_alloc(bytes);
  if (!t || !block) {
    free(t), free(block);
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot allocate %.1f MB", (double)bytes / 1e6);
  }
  t->block = *out = block;
  pthread_mutex_lock(&l->lock);
  t->older = l->allocations, l->allocations = t;
  pthread_mutex_unlock(&l->lock);
  int32_t words[sizeof block / 4];
  memcpy(words, &block, sizeof words);
  GR_TRY(gr_comm_run(&world->base, GR_ALL_GATHER, GR_I32, sizeof words / 4, words, t->memory));
  t->region = (gr_region){.memory = block, .bytes = bytes, .of_rank = t->memory};
  gr_shared_add_region(world, &t->region);
  return GR_OK;
}

gr_status gr_loopback_create(int ranks, double timeout_s, gr_loopback **out) {
  *out = NULL;
  if (ranks < 1 || ranks > 1024)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d ranks: expected 1 to 1024", ranks);
  gr_loopback *l = calloc(1, sizeof *l);
  if (!l) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d ranks", ranks);
  pthread_mutex_init(&l->lock, NULL);
  l->timeout_s = timeout_s;
  gr_status s = create_group(l, ranks, NULL, &l->world);
  if (s) {
    gr_loopback_destroy(l);
    return s;
  }
  *out = l;
  return GR_OK;
}

gr_comm *gr_loopback_comm(gr_loopback *l, int rank) { return &l->world->members[rank].shared.base; }

void gr_loopback_destroy(gr_loopback *l) {
  if (!l) return;
  for (group *g = l->groups, *older; g; g = older) {
    older = g->older;
    free(g->block), free(g->members), free(g);
  }
  for (allocation *t = l->allocations, *older; t; t = older) {
    older = t->older;
    free(t->block), free(t);
  }
  pthread_mutex_destroy(&l->lock);
  free(l);
}

// ---- Threads ------------------------------------------------------------------------------------

typedef struct thread {
  pthread_t id;
  gr_comm *comm;
  gr_status (*rank)(gr_comm *, void *arg);
  void *arg;
  gr_status status;
} thread;

static void *run_thread(void *arg) {
  thread *t = arg;
  t->status = t->rank(t->comm, t->arg);
  return NULL;
}

// The error to report: the first that is not a consequence of another rank's error.
static gr_status first_cause(const thread *t, int n) {
  int best = -1;
  for (int i = 0; i < n; i++)
    if (t[i].status && (best < 0 || (gr_status_code(t[best].status) == GR_ERR_RANK &&
                                     gr_status_code(t[i].status) != GR_ERR_RANK)))
      best = i;
  for (int i = 0; i < n; i++)
    if (i != best) gr_status_drop(t[i].status);
  return best < 0 ? GR_OK : t[best].status;
}

gr_status gr_loopback_run(int ranks, double timeout_s, gr_status (*rank)(gr_comm *, void *),
                          void *arg) {
  gr_loopback *world;
  GR_TRY(gr_loopback_create(ranks, timeout_s, &world));
  thread t[ranks];  // at most 1024
  int started = 0, error = 0;
  for (; started < ranks && !error; started += !error) {
    t[started] = (thread){.comm = gr_loopback_comm(world, started), .rank = rank, .arg = arg};
    error = gr_thread_start(&t[started].id, run_thread, &t[started]);
  }
  if (started < ranks) t[0].comm->ops->abort(t[0].comm, "a thread could not be started");
  for (int i = 0; i < started; i++) pthread_join(t[i].id, NULL);
  gr_loopback_destroy(world);
  gr_status s = first_cause(t, started);
  if (!error) return s;
  gr_status_drop(s);
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no thread for rank %d of %d: %s", started,
                         ranks, strerror(error)),
                 "fewer distributed.ranks, or more memory or threads (`ulimit -v`, `ulimit -u`)");
}
