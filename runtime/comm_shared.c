// comm_shared.c - see comm_shared.h.
#include "runtime/comm_shared.h"
#include <sched.h>
#include <string.h>
#include <time.h>
#include "runtime/comm_sum.h"

enum { SPINS = 20000, YIELDS = 64, TWO_PHASE_BYTES = 16 * 1024 };
static const double patient_s = 0.01, look_s = 0.1;

static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                    "barrier"};

// ---- Fate -------------------------------------------------------------------------

// Waits for another's words. False: whoever began them has died over it.
static bool settled(const gr_fate *f) {
  for (int i = 0; i < 100000; i++) {
    if (atomic_load_explicit(&f->state, memory_order_acquire) == 2) return true;
    sched_yield();
  }
  return false;
}

// When it returns the fate is known, so that no caller goes on as if nothing were.
void gr_fate_doom(gr_fate *f, gr_code code, int rank, const char *fmt, ...) {
  int well = 0;
  if (!atomic_compare_exchange_strong(&f->state, &well, 1) && settled(f)) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->why, sizeof f->why, fmt, ap);
  va_end(ap);
  f->code = code, f->rank = rank;
  atomic_store_explicit(&f->state, 2, memory_order_release);
}

gr_status gr_fate_status(gr_fate *f, int world_rank) {
  if (atomic_load_explicit(&f->state, memory_order_acquire) != 2) return GR_OK;
  if (f->rank == world_rank && f->code == GR_ERR_RANK)
    return gr_fail(f->code, GR_NOWHERE, "rank %d has stopped before: %s", f->rank, f->why);
  return gr_fail(f->code, GR_NOWHERE, "%s", f->why);
}

// ---- Joining ----------------------------------------------------------------------

static size_t rounded(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

static size_t head_bytes(int ranks) {
  return rounded(rounded(sizeof(gr_fate)) + sizeof(gr_seat) * (size_t)ranks);
}

size_t gr_shared_bytes(int ranks) {
  return head_bytes(ranks) + (size_t)ranks * 2 * GR_SHARED_CHUNK;
}

void gr_shared_join(gr_shared *s, void *block, int rank, int ranks, int world_rank, int pid,
                    gr_fate *fate, double timeout_s, bool crowded) {
  s->base.rank = rank, s->base.ranks = ranks;
  s->fate = fate ? fate : block;
  s->seat = (gr_seat *)((char *)block + rounded(sizeof(gr_fate)));
  s->buffers = (char *)block + head_bytes(ranks);
  s->timeout_s = timeout_s;
  s->spins = crowded ? 0 : SPINS;
  s->seat[rank].rank = world_rank;
  atomic_store(&s->seat[rank].pid, pid);
}

void gr_shared_leave(gr_shared *s) { atomic_store(&s->seat[s->base.rank].pid, GR_SEAT_LEFT); }

// ---- Meeting ----------------------------------------------------------------------

// What a member is doing, as one number: kind, dtype, count.
static uint64_t call_of(gr_collective kind, gr_dtype d, int64_t count) {
  return (uint64_t)kind << 60 | (uint64_t)d << 56 | (uint64_t)count;
}

static const char *call_text(uint64_t call, char buf[64]) {
  if (call >> 60 == GR_BARRIER)
    snprintf(buf, 64, "barrier");
  else
    snprintf(buf, 64, "%s of %llu x %s", names[call >> 60 & 7],
             (unsigned long long)(call & (((uint64_t)1 << 56) - 1)),
             gr_dtypes[call >> 56 & 15].name);
  return buf;
}

static bool here(const gr_shared *s, int r, uint64_t epoch) {
  return atomic_load_explicit(&s->seat[r].epoch, memory_order_acquire) >= epoch;
}

// Whether a member's process is gone, without having closed.
static bool is_dead(const gr_shared *s, int r) {
  int pid = atomic_load(&s->seat[r].pid);
  return pid > 0 && !gr_process_state(pid) && atomic_load(&s->seat[r].pid) == pid;
}

// Members that have gone without a word. epoch: the round they are waited for in.
static void look(gr_shared *s, uint64_t epoch) {
  for (int r = 0; r < s->base.ranks; r++) {
    int rank = s->seat[r].rank;
    if (r == s->base.rank || here(s, r, epoch)) continue;
    if (is_dead(s, r) && !here(s, r, epoch))
      gr_fate_doom(s->fate, GR_ERR_RANK, rank, "rank %d died: its process %d is gone", rank,
                   atomic_load(&s->seat[r].pid));
    else if (epoch <= s->epoch && atomic_load(&s->seat[r].pid) == GR_SEAT_LEFT &&
             !here(s, r, epoch))
      gr_fate_doom(s->fate, GR_ERR_RANK, rank, "rank %d has ended while others go on", rank);
  }
  if (s->look) s->look(s);
}

static gr_status hang(gr_shared *s) {
  char who[128] = "", call[64];
  int first = -1, missing = 0, stopped = 0;
  for (int r = 0; r < s->base.ranks; r++) {
    if (here(s, r, s->epoch)) continue;
    size_t used = strlen(who);
    snprintf(who + used, sizeof who - used, "%s%d", missing++ ? ", " : "", s->seat[r].rank);
    if (first < 0) first = s->seat[r].rank;
    int pid = atomic_load(&s->seat[r].pid);
    if (!stopped && pid > 0 && gr_process_state(pid) == 'T') stopped = pid;
  }
  char more[64] = "";
  if (stopped) snprintf(more, sizeof more, "; process %d is stopped by a signal", stopped);
  gr_fate_doom(s->fate, GR_ERR_HANG, first,
               "rank%s %s did not come to collective %llu, %s, within %g s%s",
               missing > 1 ? "s" : "", who, (unsigned long long)s->calls, call_text(s->call, call),
               s->timeout_s, more);
  return gr_fate_status(s->fate, s->seat[s->base.rank].rank);
}

static gr_status await(gr_shared *s, int r) {
  for (int i = 0; i < s->spins; i++) {
    if (here(s, r, s->epoch)) return GR_OK;
    gr_pause();
  }
  double begun = gr_seconds(), looked = begun;
  while (true) {
    for (int i = 0; i < YIELDS; i++) {
      if (here(s, r, s->epoch)) return GR_OK;
      sched_yield();
    }
    GR_TRY(gr_fate_status(s->fate, s->seat[s->base.rank].rank));
    double now = gr_seconds();
    if (now - begun > patient_s) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    if (now - looked > look_s) look(s, s->epoch), looked = now;
    if (now - begun > s->timeout_s) GR_TRY(hang(s));
  }
}

// Shows a member's buffer of this round; next: of the round to come.
static char *buffer(const gr_shared *s, int r, bool next) {
  return s->buffers + ((size_t)r * 2 + ((s->epoch + next) & 1)) * GR_SHARED_CHUNK;
}
static char *mine(const gr_shared *s) { return buffer(s, s->base.rank, true); }

static gr_status meet(gr_shared *s) {
  gr_seat *me = &s->seat[s->base.rank];
  uint64_t e = ++s->epoch;
  atomic_store_explicit(&me->call[e & 1], s->call, memory_order_relaxed);
  atomic_store_explicit(&me->epoch, e, memory_order_release);
  for (int r = 0; r < s->base.ranks; r++) {
    if (!here(s, r, e)) GR_TRY(await(s, r));
    uint64_t other = atomic_load_explicit(&s->seat[r].call[e & 1], memory_order_relaxed);
    char a[64], b[64];
    if (other == s->call) continue;
    gr_fate_doom(s->fate, GR_ERR_BUG, me->rank, "rank %d does %s while rank %d does %s",
                 s->seat[r].rank, call_text(other, a), me->rank, call_text(s->call, b));
    return gr_fate_status(s->fate, me->rank);
  }
  return GR_OK;
}

// ---- Collectives ------------------------------------------------------------------
// All take n elements from `at` on, as many as fit a round.

typedef struct job {
  size_t size;  // of an element
  gr_dtype dtype;
  int64_t count, at, n;
  const char *in;
  char *out;
} job;

// Adds up elements [from, from + n) of everyone's buffers.
static void sum(const gr_shared *s, const job *j, int64_t from, int64_t n, void *out) {
  const void *term[s->base.ranks];
  for (int r = 0; r < s->base.ranks; r++) term[r] = buffer(s, r, false) + (size_t)from * j->size;
  gr_comm_sum(j->dtype, n, s->base.ranks, term, out);
}

// Small or few: every rank adds up everything. Else each rank adds up one slice for all.
static gr_status all_reduce(gr_shared *s, const job *j) {
  char *out = j->out + (size_t)j->at * j->size;
  memcpy(mine(s), j->in + (size_t)j->at * j->size, (size_t)j->n * j->size);
  GR_TRY(meet(s));
  int ranks = s->base.ranks, me = s->base.rank;
  if (ranks <= 2 || (size_t)j->n * j->size <= TWO_PHASE_BYTES) {
    sum(s, j, 0, j->n, out);
    return GR_OK;
  }
  int64_t from = j->n * me / ranks;
  sum(s, j, from, j->n * (me + 1) / ranks - from, mine(s) + (size_t)from * j->size);
  GR_TRY(meet(s));
  for (int r = 0; r < ranks; r++) {
    size_t lo = (size_t)(j->n * r / ranks) * j->size;
    size_t hi = (size_t)(j->n * (r + 1) / ranks) * j->size;
    memcpy(out + lo, buffer(s, r, false) + lo, hi - lo);
  }
  return GR_OK;
}

static gr_status all_gather(gr_shared *s, const job *j) {
  memcpy(mine(s), j->in + (size_t)j->at * j->size, (size_t)j->n * j->size);
  GR_TRY(meet(s));
  for (int r = 0; r < s->base.ranks; r++)
    memcpy(j->out + (size_t)(r * j->count + j->at) * j->size, buffer(s, r, false),
           (size_t)j->n * j->size);
  return GR_OK;
}

static gr_status reduce_scatter(gr_shared *s, const job *j) {
  for (int r = 0; r < s->base.ranks; r++)
    memcpy(mine(s) + (size_t)(r * j->n) * j->size, j->in + (size_t)(r * j->count + j->at) * j->size,
           (size_t)j->n * j->size);
  GR_TRY(meet(s));
  sum(s, j, s->base.rank * j->n, j->n, j->out + (size_t)j->at * j->size);
  return GR_OK;
}

static gr_status broadcast(gr_shared *s, const job *j) {
  bool root = s->base.rank == 0;  // the others' `in` is not looked at
  size_t at = (size_t)j->at * j->size, bytes = (size_t)j->n * j->size;
  if (root) memcpy(mine(s), j->in + at, bytes);
  GR_TRY(meet(s));
  if (!root || j->in != j->out) memcpy(j->out + at, buffer(s, 0, false), bytes);
  return GR_OK;
}

static gr_status barrier(gr_shared *s, const job *j) {
  (void)j;
  return meet(s);
}

gr_status gr_shared_run(gr_comm *c, gr_collective kind, gr_dtype d, int64_t count, const void *in,
                        void *out) {
  static gr_status (*const does[])(gr_shared *, const job *) = {all_reduce, all_gather,
                                                                reduce_scatter, broadcast, barrier};
  gr_shared *s = (gr_shared *)c;
  GR_TRY(gr_fate_status(s->fate, s->seat[c->rank].rank));
  job j = {.size = gr_dtypes[d].size, .dtype = d, .count = count, .in = in, .out = out};
  if (kind == GR_BARRIER) j.count = 0;
  int64_t most = GR_SHARED_CHUNK / (int64_t)j.size;
  if (kind == GR_REDUCE_SCATTER) most /= c->ranks;
  s->calls++;
  s->call = call_of(kind, d, j.count);
  do {
    j.n = j.count - j.at < most ? j.count - j.at : most;
    GR_TRY(does[kind](s, &j));
    j.at += j.n;
  } while (j.at < j.count);
  return GR_OK;
}

gr_status gr_shared_check(gr_comm *c) {
  gr_shared *s = (gr_shared *)c;
  look(s, s->epoch + 1);
  return gr_fate_status(s->fate, s->seat[c->rank].rank);
}

void gr_shared_abort(gr_comm *c, const char *why) {
  gr_shared *s = (gr_shared *)c;
  int rank = s->seat[c->rank].rank;
  gr_fate_doom(s->fate, GR_ERR_RANK, rank, "rank %d has failed: %s", rank, why);
}
