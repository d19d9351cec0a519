// shared.c - the collectives over shared memory. See shared.h.
#include "runtime/comm/shared.h"
#include <string.h>
#include "base/hash.h"
#include "runtime/comm/sum.h"

enum {
  // By buffers: from this size on each rank sums one slice for all, instead of everything itself.
  TWO_PHASE_BYTES = 16 * 1024,
  // From this size on a second barrier costs less than copying (measured by bench_comm).
  IN_PLACE_BYTES = 4 * 1024,
  // Slices are multiples of so many elements, so that no two ranks write to one cache line.
  LINE = 64,
};

// Elements [at, at + n) of the concatenation of all pieces, whose length is `count`.
typedef struct job {
  gr_dtype dtype;
  size_t size;  // bytes of an element
  int n_pieces;
  const gr_comm_piece *piece;
  int64_t count, begin, n;
} job;

// Iterates over the pieces of a job. The current part is elements [first, first + n) of `piece`,
// which are the job's elements from `offset` on.
typedef struct walk {
  const job *j;
  int next;
  int64_t before;  // sum of the counts of the pieces before `next`
  const gr_comm_piece *piece;
  int64_t first, offset, n;
} walk;

static bool step(walk *w) {
  const job *j = w->j;
  while (w->next < j->n_pieces && w->before < j->begin + j->n) {
    const gr_comm_piece *p = &j->piece[w->next++];
    int64_t begin = w->before, end = begin + p->count;
    int64_t lo = begin > j->begin ? begin : j->begin,
            hi = end < j->begin + j->n ? end : j->begin + j->n;
    *w = (walk){j, w->next, end, p, lo - begin, lo - j->begin, hi - lo};
    if (w->n > 0) return true;
  }
  return false;
}

// The job of elements [lo, hi) of `j`, counted from j->at.
static job part_of(const job *j, int64_t lo, int64_t hi) {
  job p = *j;
  p.begin += lo, p.n = hi - lo;
  return p;
}

static job slice_of(const job *j, int r, int ranks) {
  int64_t lines = (j->n + LINE - 1) / LINE, hi = lines * (r + 1) / ranks * LINE;
  return part_of(j, lines * r / ranks * LINE, hi < j->n ? hi : j->n);
}

static const char *in_at(const job *j, const walk *w) {
  return (const char *)w->piece->in + (size_t)w->first * j->size;
}
static char *out_at(const job *j, const walk *w) {
  return (char *)w->piece->out + (size_t)w->first * j->size;
}
static size_t bytes(const job *j, int64_t n) { return (size_t)n * j->size; }

// ---- In place -----------------------------------------------------------------------

void gr_shared_add_region(gr_shared *world, gr_region *r) {
  r->older = world->regions;
  world->regions = r;
}

static const gr_region *region_of(const gr_shared *s, const void *p) {
  const gr_region *g = s->world->regions;
  while (g && ((const char *)p < g->memory || (const char *)p >= g->memory + g->bytes))
    g = g->older;
  return g;
}

// The address of member r's copy of what this member has at p.
static char *peer_address(const gr_shared *s, int r, const void *p) {
  const gr_region *g = region_of(s, p);
  return g->of_rank[s->block->slot[r].rank] + ((const char *)p - g->memory);
}

static uint64_t add_place(const gr_shared *s, uint64_t h, const void *p) {
  const gr_region *g = region_of(s, p);
  if (!h || !g) return 0;
  uint64_t where[2] = {(uint64_t)((const char *)p - g->memory), 0};
  for (const gr_region *o = g; o; o = o->older) where[1]++;
  return gr_hash_bytes(h, where, sizeof where);
}

// A hash of the pieces' offsets in shared memory: equal on all ranks that have them at the same
// offsets. 0 when a tensor that peers would read or write is not in shared memory.
static uint64_t place_of(const gr_shared *s, gr_collective kind, const job *j) {
  uint64_t h = GR_HASH_START;
  for (int i = 0; i < j->n_pieces; i++) {
    h = add_place(s, h, j->piece[i].in);
    if (kind == GR_ALL_REDUCE) h = add_place(s, h, j->piece[i].out);
  }
  return h;
}

static bool same_place_everywhere(const gr_shared *s) {
  for (int r = 0; r < s->base.ranks; r++)
    if (!s->place || atomic_load_explicit(&s->block->slot[r].place[s->epoch & 1],
                                          memory_order_relaxed) != s->place)
      return false;
  return true;
}

// Each rank sums its slice and writes the result to every rank.
static void reduce_slice(const gr_shared *s, const job *whole) {
  int ranks = s->base.ranks;
  job j = slice_of(whole, s->base.rank, ranks);
  const void *term[ranks];
  void *out[ranks];
  for (walk w = {&j}; step(&w);) {
    for (int r = 0; r < ranks; r++)
      term[r] = peer_address(s, r, in_at(&j, &w)), out[r] = peer_address(s, r, out_at(&j, &w));
    gr_comm_sum(j.dtype, s->base.tree, w.n, ranks, term, ranks, out);
  }
}

static void reduce_scatter_in_place(const gr_shared *s, const job *j) {
  const void *term[s->base.ranks];
  for (walk w = {j}; step(&w);) {
    void *out = w.piece->out;
    for (int r = 0; r < s->base.ranks; r++)
      term[r] = peer_address(s, r, w.piece->in) + bytes(j, s->base.rank * w.n);
    gr_comm_sum(j->dtype, s->base.tree, w.n, s->base.ranks, term, 1, &out);
  }
}

// Each rank starts with its own part, so that not all ranks read from the same one at a time.
static void all_gather_in_place(const gr_shared *s, const job *j) {
  for (int k = 0; k < s->base.ranks; k++) {
    int r = (s->base.rank + k) % s->base.ranks;
    for (walk w = {j}; step(&w);)
      memcpy((char *)w.piece->out + bytes(j, r * w.n), peer_address(s, r, w.piece->in),
             bytes(j, w.n));
  }
}

// *done: false when some rank's tensors are not in shared memory, and nothing was moved. The
// closing barrier keeps a rank from changing its tensors while a peer still accesses them.
static gr_status run_in_place(gr_shared *s, gr_collective kind, const job *j, bool *done) {
  *done = false;
  s->place = place_of(s, kind, j);
  gr_status met = gr_shared_barrier(s);
  if (met || !same_place_everywhere(s)) {
    s->place = 0;
    return met;
  }
  if (kind == GR_ALL_REDUCE) reduce_slice(s, j);
  if (kind == GR_REDUCE_SCATTER) reduce_scatter_in_place(s, j);
  if (kind == GR_ALL_GATHER) all_gather_in_place(s, j);
  s->place = 0;
  *done = true;
  return gr_shared_barrier(s);
}

// ---- By buffers ---------------------------------------------------------------------
// Each function is one round, of a job that fits into a buffer.

// Member r's buffer of the current round; next: of the round that the next barrier begins.
static char *buffer(const gr_shared *s, int r, bool next) {
  return s->buffers + ((size_t)r * 2 + ((s->epoch + next) & 1)) * GR_SHARED_CHUNK;
}
static char *own_buffer(const gr_shared *s) { return buffer(s, s->base.rank, true); }

static void put(const gr_shared *s, const job *j) {
  for (walk w = {j}; step(&w);)
    memcpy(own_buffer(s) + bytes(j, w.offset), in_at(j, &w), bytes(j, w.n));
}

// Copies elements [lo, hi) of the round from member r's buffer to `out`.
static void get(const gr_shared *s, const job *round, int r, int64_t lo, int64_t hi) {
  job j = part_of(round, lo, hi);
  for (walk w = {&j}; step(&w);)
    memcpy(out_at(&j, &w), buffer(s, r, false) + bytes(&j, lo + w.offset), bytes(&j, w.n));
}

// Sums elements [from, from + n) over all members' buffers.
static void sum(const gr_shared *s, const job *j, int64_t begin, int64_t n, void *out) {
  const void *term[s->base.ranks];
  for (int r = 0; r < s->base.ranks; r++) term[r] = buffer(s, r, false) + bytes(j, begin);
  gr_comm_sum(j->dtype, s->base.tree, n, s->base.ranks, term, 1, &out);
}

// For few ranks or small messages every rank sums everything itself, which saves a barrier.
// Otherwise each rank sums one slice for all.
static gr_status all_reduce(gr_shared *s, const job *j) {
  int ranks = s->base.ranks, me = s->base.rank;
  put(s, j);
  GR_TRY(gr_shared_barrier(s));
  if (ranks <= 2 || bytes(j, j->n) <= TWO_PHASE_BYTES) {
    for (walk w = {j}; step(&w);) sum(s, j, w.offset, w.n, out_at(j, &w));
    return GR_OK;
  }
  int64_t begin = j->n * me / ranks;
  sum(s, j, begin, j->n * (me + 1) / ranks - begin, own_buffer(s) + bytes(j, begin));
  GR_TRY(gr_shared_barrier(s));
  for (int r = 0; r < ranks; r++) get(s, j, r, j->n * r / ranks, j->n * (r + 1) / ranks);
  return GR_OK;
}

static gr_status all_gather(gr_shared *s, const job *j) {
  put(s, j);
  GR_TRY(gr_shared_barrier(s));
  for (int r = 0; r < s->base.ranks; r++)
    for (walk w = {j}; step(&w);)
      memcpy(out_at(j, &w) + bytes(j, r * w.piece->count), buffer(s, r, false) + bytes(j, w.offset),
             bytes(j, w.n));
  return GR_OK;
}

static gr_status reduce_scatter(gr_shared *s, const job *j) {
  for (int r = 0; r < s->base.ranks; r++)
    for (walk w = {j}; step(&w);)
      memcpy(own_buffer(s) + bytes(j, r * j->n + w.offset),
             in_at(j, &w) + bytes(j, r * w.piece->count), bytes(j, w.n));
  GR_TRY(gr_shared_barrier(s));
  for (walk w = {j}; step(&w);) sum(s, j, s->base.rank * j->n + w.offset, w.n, out_at(j, &w));
  return GR_OK;
}

static gr_status broadcast(gr_shared *s, const job *j) {
  if (s->base.rank == 0) put(s, j);  // `in` of the other ranks is ignored
  GR_TRY(gr_shared_barrier(s));
  get(s, j, 0, 0, j->n);
  return GR_OK;
}

static gr_status barrier(gr_shared *s, const job *j) {
  (void)j;
  return gr_shared_barrier(s);
}

// ---- Dispatch -----------------------------------------------------------------------

static gr_status run_rounds(gr_shared *s, gr_collective kind, job *j) {
  static gr_status (*const run_round[])(gr_shared *, const job *) = {
      all_reduce, all_gather, reduce_scatter, broadcast, barrier};
  int64_t most = GR_SHARED_CHUNK / (int64_t)j->size;
  if (kind == GR_REDUCE_SCATTER) most /= s->base.ranks;
  do {
    j->n = j->count - j->begin < most ? j->count - j->begin : most;
    GR_TRY(run_round[kind](s, j));
    j->begin += j->n;
  } while (j->begin < j->count);
  return GR_OK;
}

gr_status gr_shared_run(gr_comm *c, gr_collective kind, gr_dtype d, int n,
                        const gr_comm_piece *piece) {
  gr_shared *s = (gr_shared *)c;
  GR_TRY(gr_shared_status(s));
  job j = {.dtype = d, .size = gr_dtypes[d].size, .n_pieces = n, .piece = piece};
  for (int i = 0; i < n && kind != GR_BARRIER; i++) j.count += piece[i].count;
  s->calls++;
  s->call = gr_shared_call(kind, d, n, j.count);
  size_t whole = bytes(&j, j.count) * (kind == GR_ALL_REDUCE ? 1 : (size_t)c->ranks);
  if (kind <= GR_REDUCE_SCATTER && c->ranks > 1 && whole >= IN_PLACE_BYTES) {
    bool done;
    j.n = j.count;
    gr_status status = run_in_place(s, kind, &j, &done);
    if (status || done) return status;
  }
  return run_rounds(s, kind, &j);
}
