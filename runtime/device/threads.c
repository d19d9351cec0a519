// threads.c - a fork-join thread pool with work stealing. See threads.h.
//
// Each thread has one cache line: its state, and the remaining range of its share of the work. The
// caller is thread 0. It sets all states to READY and works; a worker that sees READY sets TAKEN,
// works, and sets IDLE. An idle worker steals from the tail of other workers' ranges, so that one
// thread on a slow or busy processor does not delay all others. If no work is left, the caller
// resets states that are still READY, so it never waits for a worker that has not begun.
//
//   IDLE -> READY    the caller, when a call begins
//   READY -> TAKEN   the worker; READY -> IDLE  the caller, when no work is left: whichever is
//   first TAKEN -> IDLE    the worker, when it finds no more work
#define _GNU_SOURCE
#include "runtime/device/threads.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/thread.h"

enum { IDLE, READY, TAKEN, QUIT };
enum { SPINS = 4000, MAX_THREADS = 256, CHUNKS_PER_SHARE = 8 };

typedef struct pool pool;
typedef struct worker {
  _Alignas(128) _Atomic uint32_t state;
  atomic_bool asleep;
  _Atomic uint64_t
      left;  // range of grains: the first in the high half, one past the last in the low half
  int index;
  pool *pool;
  pthread_t thread;
} worker;

struct pool {
  gr_cpu base;
  int spins, started;
  // The current call.
  int shares;
  int64_t n, grain;
  uint32_t chunk;  // the number of grains that are taken at a time
  gr_part part;
  void *arg;
  worker worker[];  // base.threads elements
};

static void futex(_Atomic uint32_t *word, int what, uint32_t value) {
  syscall(SYS_futex, (uint32_t *)word, what | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

// Waits for a call: spins first, then sleeps.
static uint32_t wait_for_call(worker *w) {
  for (int i = 0; i < w->pool->spins; i++) {
    uint32_t state = atomic_load_explicit(&w->state, memory_order_acquire);
    if (state != IDLE) return state;
    gr_pause();
  }
  atomic_store(&w->asleep, true);
  uint32_t state;
  while ((state = atomic_load(&w->state)) == IDLE) futex(&w->state, FUTEX_WAIT, IDLE);
  atomic_store(&w->asleep, false);
  return state;
}

// Takes the next grains of a share: its owner takes from the front, other threads from the tail.
static bool take_grains(worker *w, bool is_own, uint32_t chunk, uint32_t *begin, uint32_t *to) {
  uint64_t left = atomic_load_explicit(&w->left, memory_order_relaxed), rest;
  do {
    *begin = (uint32_t)(left >> 32), *to = (uint32_t)left;
    if (*begin >= *to) return false;
    uint32_t some = *to - *begin < chunk ? *to - *begin : chunk;
    if (is_own)
      *to = *begin + some;
    else
      *begin = *to - some;
    rest = is_own ? (uint64_t)*to << 32 | (uint32_t)left : left - some;
  } while (!atomic_compare_exchange_weak_explicit(&w->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

static void run_all(pool *p, int first) {
  uint32_t begin, to;
  for (int i = 0; i < p->shares; i++)
    while (take_grains(&p->worker[(first + i) % p->shares], !i, p->chunk, &begin, &to)) {
      int64_t end = to * p->grain;
      p->part(p->arg, begin * p->grain, end < p->n ? end : p->n);
    }
}

static void *work(void *arg) {
  worker *w = arg;
  for (uint32_t state; (state = wait_for_call(w)) != QUIT;) {
    uint32_t ready = READY;
    if (!atomic_compare_exchange_strong(&w->state, &ready, TAKEN)) continue;
    run_all(w->pool, w->index);
    atomic_store_explicit(&w->state, IDLE, memory_order_release);
  }
  return NULL;
}

static void set_state(worker *w, uint32_t state) {
  atomic_store(&w->state, state);
  if (atomic_load(&w->asleep)) futex(&w->state, FUTEX_WAKE, 1);
}

// Waits for a worker that has started; a worker that has not is released.
static void join(worker *w) {
  uint32_t ready = READY;
  if (atomic_compare_exchange_strong(&w->state, &ready, IDLE)) return;
  for (int i = 0; atomic_load_explicit(&w->state, memory_order_acquire) != IDLE; i++)
    if (i < w->pool->spins)
      gr_pause();
    else
      sched_yield();
}

static void parallel(gr_cpu *cpu, int64_t n, int64_t grain, gr_part part, void *arg) {
  pool *p = (pool *)cpu;
  if (grain < 1) grain = 1;
  while (n / grain >= UINT32_MAX) grain *= 2;
  int64_t grains = (n + grain - 1) / grain;
  int64_t shares = grains < cpu->threads ? grains : cpu->threads;
  if (shares <= 1) {
    if (n > 0) part(arg, 0, n);
    return;
  }
  p->n = n, p->grain = grain, p->part = part, p->arg = arg, p->shares = (int)shares;
  p->chunk = (uint32_t)((grains + shares * CHUNKS_PER_SHARE - 1) / (shares * CHUNKS_PER_SHARE));
  for (int64_t i = 0; i < shares; i++)
    atomic_store_explicit(
        &p->worker[i].left,
        (uint64_t)(i * grains / shares) << 32 | (uint64_t)((i + 1) * grains / shares),
        memory_order_relaxed);
  for (int64_t i = 1; i < shares; i++) set_state(&p->worker[i], READY);
  run_all(p, 0);
  for (int64_t i = shares - 1; i; i--) join(&p->worker[i]);
}

void gr_cpu_destroy(gr_cpu *cpu) {
  pool *p = (pool *)cpu;
  if (!p) return;
  for (int i = 1; i < p->started; i++) set_state(&p->worker[i], QUIT);
  for (int i = 1; i < p->started; i++) pthread_join(p->worker[i].thread, NULL);
  free(p);
}

gr_status gr_cpu_create(int threads, bool oversubscribed, gr_cpu **out) {
  *out = NULL;
  if (threads < 1 || threads > MAX_THREADS)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d threads: expected 1 to %d", threads, MAX_THREADS);
  size_t bytes = sizeof(pool) + sizeof(worker) * (size_t)threads;
  pool *p = aligned_alloc(128, (bytes + 127) / 128 * 128);
  if (!p) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d threads", threads);
  memset(p, 0, bytes);
  p->base = (gr_cpu){.threads = threads, .parallel = parallel};
  p->spins = oversubscribed ? 0 : SPINS;
  for (p->started = 1; p->started < threads; p->started++) {
    worker *w = &p->worker[p->started];
    w->pool = p, w->index = p->started;
    int error = gr_thread_start(&w->thread, work, w);
    if (!error) continue;
    gr_cpu_destroy(&p->base);
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "thread %d of %d cannot be started: %s", p->started + 1,
                threads, strerror(error)),
        "use fewer threads, or raise the limits of threads (ulimit -u) and of memory (ulimit -v)");
  }
  *out = &p->base;
  return GR_OK;
}
