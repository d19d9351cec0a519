// wait.c - the world's failure status, joining a block, and the barrier. See shared.h.
#include <sched.h>
#include <string.h>
#include "base/shown.h"
#include "runtime/comm/shared.h"
#include "runtime/launch/launch.h"

// A waiter spins for about 50 us (not where ranks share processors), then yields its processor a
// few times, then sleeps until the last member arrives.
enum { SPINS = 2000, YIELDS = 16 };
static const double check_interval_s = 0.1;

static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                    "barrier"};

// ---- Status -----------------------------------------------------------------------

// Waits until another member has finished writing the status, which it does at once when it runs.
// False: it died while writing.
static bool is_written(const gr_comm_status *f) {
  static const double patience_s = 10;
  for (double until = gr_seconds() + patience_s; gr_seconds() < until; sched_yield())
    if (atomic_load_explicit(&f->state, memory_order_acquire) == 2) return true;
  return false;
}

void gr_comm_status_abort(gr_comm_status *f, gr_code code, int rank, const char *fmt, ...) {
  int expected = 0;
  if (!atomic_compare_exchange_strong(&f->state, &expected, 1) && is_written(f)) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->why, sizeof f->why, fmt, ap);
  va_end(ap);
  f->code = code, f->rank = rank;
  atomic_store_explicit(&f->state, 2, memory_order_release);
}

gr_status gr_shared_status(const gr_shared *s) {
  const gr_comm_status *f = &s->world->block->status;
  if (atomic_load_explicit(&f->state, memory_order_acquire) != 2) return GR_OK;
  if (f->rank == gr_shared_rank(s) && f->code == GR_ERR_RANK)
    return gr_fail(f->code, GR_NOWHERE, "rank %d has failed before: %s", f->rank, f->why);
  return gr_fail(f->code, GR_NOWHERE, "%s", f->why);
}

// ---- Joining ----------------------------------------------------------------------

static size_t head_bytes(int ranks) {
  return (sizeof(gr_shared_block) + sizeof(gr_comm_slot) * (size_t)ranks + 4095) / 4096 * 4096;
}

size_t gr_shared_bytes(int ranks) {
  return head_bytes(ranks) + (size_t)ranks * 2 * GR_SHARED_CHUNK;
}

void gr_shared_join(gr_shared *s, void *block, int rank, int ranks, int world_rank, int pid,
                    gr_shared *world, double timeout_s, bool oversubscribed) {
  s->base.rank = s->base.local_rank = rank, s->base.ranks = s->base.local_ranks = ranks;
  s->world = world ? world : s;
  pthread_mutex_init(&s->between, NULL);
  s->block = block;
  s->buffers = (char *)block + head_bytes(ranks);
  s->timeout_s = timeout_s;
  s->spins = oversubscribed ? 0 : SPINS;
  s->block->slot[rank].rank = world_rank;
  s->block->slot[rank].debugged = gr_launch_debugged();
  atomic_store(&s->block->slot[rank].pid, pid);
}

void gr_shared_leave(gr_shared *s) {
  atomic_store(&s->block->slot[s->base.rank].pid, GR_COMM_SLOT_LEFT);
}

int gr_shared_rank(const gr_shared *s) { return s->block->slot[s->base.rank].rank; }

// ---- Calls ------------------------------------------------------------------------

enum { KIND = 60, DTYPE = 56, PIECES = 48 };  // lowest bit of each field; the count is below

uint64_t gr_shared_call(gr_collective kind, gr_dtype d, int pieces, int64_t count) {
  return (uint64_t)(kind + 1) << KIND | (uint64_t)d << DTYPE | (uint64_t)pieces << PIECES |
         (uint64_t)count;
}

static const char *call_text(uint64_t call, char buf[80]) {
  int kind = (int)(call >> KIND) - 1, pieces = call >> PIECES & 255;
  char in[24] = "";
  if (pieces > 1) snprintf(in, sizeof in, " in %d pieces", pieces);
  if (kind == GR_BARRIER)
    snprintf(buf, 80, "barrier");
  else
    snprintf(buf, 80, "%s of %llu x %s%s", names[kind],
             (unsigned long long)(call & (((uint64_t)1 << PIECES) - 1)),
             gr_dtypes[call >> DTYPE & 15].name, in);
  return buf;
}

// ---- Waiting ----------------------------------------------------------------------

static bool has_arrived(const gr_shared *s, int r, uint64_t epoch) {
  return atomic_load(&s->block->slot[r].epoch) >= epoch;
}

static bool all_arrived(const gr_shared *s) {
  for (int r = 0; r < s->base.ranks; r++)
    if (!has_arrived(s, r, s->epoch)) return false;
  return true;
}

// Whether a member's process has ended without closing the communicator.
static bool is_dead(const gr_comm_slot *slot) {
  int pid = atomic_load(&slot->pid);
  return pid > 0 && !gr_process_state(pid) && atomic_load(&slot->pid) == pid;
}

const gr_comm_slot *gr_shared_find_dead(const gr_shared *s) {
  for (int r = 0; r < s->base.ranks; r++)
    if (r != s->base.rank && is_dead(&s->block->slot[r])) return &s->block->slot[r];
  return NULL;
}

// Records members that ended without reporting a failure. epoch: the round in which they are
// waited for. Arrival is checked again after the process, because a member may arrive and then end.
static void check_peers(gr_shared *s, uint64_t epoch) {
  gr_comm_status *f = &s->world->block->status;
  for (int r = 0; r < s->base.ranks; r++) {
    const gr_comm_slot *slot = &s->block->slot[r];
    if (r == s->base.rank || has_arrived(s, r, epoch)) continue;
    if (is_dead(slot) && !has_arrived(s, r, epoch))
      gr_comm_status_abort(f, GR_ERR_RANK, slot->rank, GR_RANK_DIED "its process %d is gone",
                           slot->rank, atomic_load(&slot->pid));
    else if (epoch <= s->epoch && atomic_load(&slot->pid) == GR_COMM_SLOT_LEFT &&
             !has_arrived(s, r, epoch))
      gr_comm_status_abort(f, GR_ERR_RANK, slot->rank,
                           "rank %d has ended while other ranks wait for it", slot->rank);
  }
  if (s->poll) s->poll(s);
}

static gr_status report_hang(gr_shared *s) {
  char who[128] = "", call[80], more[64] = "";
  int first = -1, missing = 0, stopped = 0;
  for (int r = 0; r < s->base.ranks; r++) {
    const gr_comm_slot *slot = &s->block->slot[r];
    if (has_arrived(s, r, s->epoch)) continue;
    gr_list_number(who, sizeof who, missing++, slot->rank);
    if (first < 0) first = slot->rank;
    int pid = atomic_load(&slot->pid);
    if (!stopped && pid > 0 && gr_process_state(pid) == 'T') stopped = pid;
  }
  if (!missing) return GR_OK;  // they arrived at the last moment
  if (stopped) snprintf(more, sizeof more, "; process %d is stopped by a signal", stopped);
  gr_comm_status_abort(&s->world->block->status, GR_ERR_HANG, first,
                       "rank%s %s did not reach collective %llu, %s, within %g s%s",
                       missing > 1 ? "s" : "", who, (unsigned long long)s->calls,
                       call_text(s->call, call), s->timeout_s, more);
  return gr_shared_status(s);
}

// Sleeps until all have arrived, at most `most` seconds. No wake-up is lost: the last arrival
// writes its epoch and then reads `sleepers`, the sleeper raises `sleepers` and then reads the
// epochs, so at least one of them sees the other.
static void sleep_until_arrival(gr_shared *s, double most) {
  gr_shared_block *b = s->block;
  uint32_t seen = atomic_load(&b->futex);
  atomic_fetch_add(&b->sleepers, 1);
  if (!all_arrived(s)) gr_sleep_on(&b->futex, seen, most);
  atomic_fetch_sub(&b->sleepers, 1);
}

static void arrive(gr_shared *s) {
  gr_shared_block *b = s->block;
  gr_comm_slot *me = &b->slot[s->base.rank];
  uint64_t e = ++s->epoch;
  atomic_store_explicit(&me->call[e & 1], s->call, memory_order_relaxed);
  atomic_store_explicit(&me->place[e & 1], s->place, memory_order_relaxed);
  atomic_store(&me->epoch, e);
  if (!atomic_load(&b->sleepers) || !all_arrived(s)) return;
  atomic_fetch_add(&b->futex, 1);
  gr_wake(&b->futex);
}

static gr_status wait_for_member(gr_shared *s, int r) {
  for (int i = 0; i < s->spins; i++) {
    if (has_arrived(s, r, s->epoch)) return GR_OK;
    gr_pause();
  }
  for (int i = 0; i < YIELDS; i++) {
    if (has_arrived(s, r, s->epoch)) return GR_OK;
    sched_yield();
  }
  double begun = gr_seconds(), checked = begun;
  while (!has_arrived(s, r, s->epoch)) {
    GR_TRY(gr_shared_status(s));
    double now = gr_seconds(), left = s->timeout_s - (now - begun);
    if (left <= 0) return report_hang(s);
    if (now - checked > check_interval_s) check_peers(s, s->epoch), checked = now;
    sleep_until_arrival(s, left < check_interval_s ? left : check_interval_s);
  }
  return GR_OK;
}

gr_status gr_shared_barrier(gr_shared *s) {
  arrive(s);
  for (int r = 0; r < s->base.ranks; r++) {
    const gr_comm_slot *slot = &s->block->slot[r];
    if (!has_arrived(s, r, s->epoch)) GR_TRY(wait_for_member(s, r));
    uint64_t other = atomic_load_explicit(&slot->call[s->epoch & 1], memory_order_relaxed);
    char a[80], b[80];
    if (other == s->call) continue;
    gr_comm_status_abort(&s->world->block->status, GR_ERR_BUG, gr_shared_rank(s),
                         "rank %d runs %s while rank %d runs %s", slot->rank, call_text(other, a),
                         gr_shared_rank(s), call_text(s->call, b));
    return gr_shared_status(s);
  }
  return GR_OK;
}

// A process that is gone is another error, and one that a debugger holds none.
static void report_silence(gr_shared_block *b, const gr_comm_slot *silent, double seconds) {
  int pid = atomic_load(&silent->pid), none = 0;
  char state = gr_process_state(pid);
  if (!state || state == 't') return;
  gr_comm_status_abort(&b->status, GR_ERR_HANG, silent->rank, GR_RANK_SILENT "its process %d %s",
                       silent->rank, seconds, pid,
                       state == 'T' ? "is stopped by a signal" : "does not run");
  atomic_compare_exchange_strong(&b->silent, &none, 1 + silent->rank);
}

// Each member looks at the next one alone: whichever of them are stopped, one that runs has a
// stopped one after it, and what it finds all others see.
gr_status gr_shared_watch(gr_shared *s, double silence_s) {
  gr_comm_slot *me = &s->block->slot[s->base.rank];
  gr_comm_slot *next = &s->block->slot[(s->base.rank + 1) % s->base.ranks];
  atomic_fetch_add(&me->beats, 1);
  double silent = gr_silence_of(&s->next, atomic_load(&next->beats));
  bool watched = silence_s > 0 && next != me && atomic_load(&next->pid) > 0 && !next->debugged;
  if (watched && silent > silence_s) report_silence(s->block, next, silence_s);
  return atomic_load(&s->block->silent) ? gr_shared_status(s) : GR_OK;
}

gr_status gr_shared_check(gr_comm *c) {
  gr_shared *s = (gr_shared *)c;
  check_peers(s, s->epoch + 1);
  return gr_shared_status(s);
}

void gr_shared_abort(gr_comm *c, const char *why) {
  gr_shared *s = (gr_shared *)c;
  int rank = gr_shared_rank(s);
  gr_comm_status_abort(&s->world->block->status, GR_ERR_RANK, rank, "rank %d has failed: %s", rank,
                       why);
}
