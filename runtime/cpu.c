// cpu.c - see cpu.h.
//
// Each worker has one cache line, its mailbox. The caller writes READY there and does its own
// share; a worker that sees READY takes it (TAKEN), works, and writes IDLE. A share that is still
// READY when the caller has done its own is taken back and done by the caller.
#define _GNU_SOURCE
#include "runtime/cpu.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IDLE, READY, TAKEN, QUIT };
enum { SPINS = 4000, MAX_THREADS = 256 };

typedef struct pool pool;
typedef struct worker {
  _Alignas(128) _Atomic uint32_t mail;
  atomic_bool asleep;
  int64_t from, to;
  gr_part part;
  void *arg;
  pool *pool;
  pthread_t thread;
} worker;

struct pool {
  gr_cpu base;
  int spins, started;
  worker worker[];  // base.threads - 1 of them
};

static void futex(_Atomic uint32_t *word, int what, uint32_t value) {
  syscall(SYS_futex, (uint32_t *)word, what | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

// Waits until there is mail: first spinning, then asleep.
static uint32_t receive(worker *w) {
  for (int i = 0; i < w->pool->spins; i++) {
    uint32_t mail = atomic_load_explicit(&w->mail, memory_order_acquire);
    if (mail != IDLE) return mail;
    gr_pause();
  }
  atomic_store(&w->asleep, true);
  uint32_t mail;
  while ((mail = atomic_load(&w->mail)) == IDLE) futex(&w->mail, FUTEX_WAIT, IDLE);
  atomic_store(&w->asleep, false);
  return mail;
}

static void *work(void *arg) {
  worker *w = arg;
  for (uint32_t mail; (mail = receive(w)) != QUIT;) {
    uint32_t ready = READY;
    if (!atomic_compare_exchange_strong(&w->mail, &ready, TAKEN)) continue;
    w->part(w->arg, w->from, w->to);
    atomic_store_explicit(&w->mail, IDLE, memory_order_release);
  }
  return NULL;
}

static void post(worker *w, uint32_t mail) {
  atomic_store(&w->mail, mail);
  if (atomic_load(&w->asleep)) futex(&w->mail, FUTEX_WAKE, 1);
}

// Does a worker's share if it has not begun; else waits for it.
static void settle(worker *w) {
  uint32_t ready = READY;
  if (atomic_compare_exchange_strong(&w->mail, &ready, IDLE)) {
    w->part(w->arg, w->from, w->to);
    return;
  }
  for (int i = 0; atomic_load_explicit(&w->mail, memory_order_acquire) != IDLE; i++)
    if (i < w->pool->spins)
      gr_pause();
    else
      sched_yield();
}

static void parallel(gr_cpu *cpu, int64_t n, int64_t grain, gr_part part, void *arg) {
  pool *p = (pool *)cpu;
  if (grain < 1) grain = 1;
  int64_t grains = (n + grain - 1) / grain;
  int64_t shares = grains < cpu->threads ? grains : cpu->threads;
  if (shares <= 1) {
    if (n > 0) part(arg, 0, n);
    return;
  }
  for (int64_t i = 1; i < shares; i++) {  // share i: grains [i * grains / shares, ...)
    worker *w = &p->worker[i - 1];
    int64_t to = (i + 1) * grains / shares * grain;
    w->from = i * grains / shares * grain, w->to = to < n ? to : n;
    w->part = part, w->arg = arg;
    post(w, READY);
  }
  part(arg, 0, grains / shares * grain);
  for (int64_t i = shares - 1; i; i--) settle(&p->worker[i - 1]);
}

void gr_cpu_destroy(gr_cpu *cpu) {
  pool *p = (pool *)cpu;
  if (!p) return;
  for (int i = 0; i < p->started; i++) post(&p->worker[i], QUIT);
  for (int i = 0; i < p->started; i++) pthread_join(p->worker[i].thread, NULL);
  free(p);
}

gr_status gr_cpu_create(int threads, bool crowded, gr_cpu **out) {
  *out = NULL;
  if (threads < 1 || threads > MAX_THREADS)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d threads: expected 1 to %d", threads, MAX_THREADS);
  size_t bytes = sizeof(pool) + sizeof(worker) * (size_t)(threads - 1);
  pool *p = aligned_alloc(128, (bytes + 127) / 128 * 128);
  if (!p) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d threads", threads);
  memset(p, 0, bytes);
  p->base = (gr_cpu){.threads = threads, .parallel = parallel};
  p->spins = crowded ? 0 : SPINS;
  for (; p->started < threads - 1; p->started++) {
    worker *w = &p->worker[p->started];
    w->pool = p;
    int error = pthread_create(&w->thread, NULL, work, w);
    if (!error) continue;
    gr_cpu_destroy(&p->base);
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "thread %d of %d cannot be started: %s",
                           p->started + 2, threads, strerror(error)),
                   "use fewer threads, or raise the limit (ulimit -u)");
  }
  *out = &p->base;
  return GR_OK;
}
