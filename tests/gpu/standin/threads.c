// threads.c - finds threads of one kernel that touch the same bytes of global memory, one of which
// writes them, without an order between them, where STANDIN_MEMORY=threads asks for it, in
// whichever order they happen to run here.
//
// Threads of a block are ordered by its barriers, those of a warp also by __syncwarp. Shuffles,
// ballots and reductions of a warp let its lanes meet, but order no memory (CUDA C++ Programming
// Guide, "Warp Shuffle Functions"). Blocks of a cooperative launch are left to weak.c; others are
// not ordered. Atomic operations are not looked at.
//
// A thread has passed so many barriers of its block, its phase. A lane has a clock, which
// __syncwarp advances, and knows the clocks that the others had when it met them last.
#define _GNU_SOURCE
#include "tests/gpu/standin/threads.h"
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct access {
  uint32_t launch, block, thread, phase, clock;
} access;
typedef struct cell {  // of a byte: who wrote it last, and two who have read it since
  access write, read[2];
} cell;
typedef struct thread {
  access now;          // what its next access is
  uint32_t known[32];  // clocks
} thread;

static struct memory {
  const char *begin;
  cell *cells;
} memories[16];
static const struct memory *watched;
static thread *threads;
static uint32_t launch;
static int nthreads, together;

void threads_start(int fiber, unsigned block, unsigned index) {
  if (!watched) return;
  if (fiber >= nthreads) threads = realloc(threads, (size_t)(fiber + 1) * sizeof *threads);
  if (fiber >= nthreads) nthreads = fiber + 1;
  threads[fiber] = (thread){{launch, block, index, 0, 1}, {0}};
}
void threads_pass(int fiber) {
  if (watched) threads[fiber].now.phase++;
}
void threads_meet(int first, unsigned mask) {
  uint32_t clocks[32] = {0};
  if (!watched) return;
  for (unsigned left = mask; left; left &= left - 1) {
    const thread *t = &threads[first + __builtin_ctz(left)];
    for (int i = 0; i < 32; i++)
      if (t->known[i] > clocks[i]) clocks[i] = t->known[i];
    clocks[t->now.thread % 32] = t->now.clock;
  }
  for (unsigned left = mask; left; left &= left - 1) {
    thread *t = &threads[first + __builtin_ctz(left)];
    memcpy(t->known, clocks, sizeof clocks), t->now.clock++;
  }
}

static int ordered(const thread *t, const access *a) {
  if (a->launch != launch) return 1;
  if (a->block != t->now.block) return together;
  if (a->thread == t->now.thread || a->phase < t->now.phase) return 1;
  return a->thread / 32 == t->now.thread / 32 && t->known[a->thread % 32] >= a->clock;
}
static void report(const char *p, const char *what, const access *a, const char *done) {
  char where[200];
  standin_where(where, sizeof where);
  standin_die(CUDA_ERROR_LAUNCH_FAILED,
              "%s: %s %p, which thread %u of block %u %s: no barrier orders them", where, what, p,
              a->thread, a->block, done);
}
static void touch(cell *c, const char *p, int write) {
  const thread *t = &threads[standin_fiber()];
  if (!ordered(t, &c->write)) report(p, write ? "writes" : "reads", &c->write, "writes");
  if (!write) {
    c->read[!ordered(t, &c->read[0])] = t->now;
    return;
  }
  for (int i = 0; i < 2; i++)
    if (!ordered(t, &c->read[i])) report(p, "writes", &c->read[i], "reads");
  *c = (cell){.write = t->now};
}
static void touch_all(const void *address, size_t n, int write) {
  const char *p = address;
  for (size_t i = 0; i < n; i++) touch(&watched->cells[p + i - watched->begin], p + i, write);
}
static void reads(const void *p, size_t n) { touch_all(p, n, 0); }
static void writes(const void *p, size_t n) { touch_all(p, n, 1); }
static void past(void *to, const void *p, size_t n) {
  touch_all(p, n, 0);
  memcpy(to, p, n);
}
static void ignored(const void *p, size_t n) { (void)p, (void)n; }
static void order(int releases, int acquires) { (void)releases, (void)acquires; }

void threads_begin(standin_engine *e, const standin_launch *l) {
  const char *kind = getenv("STANDIN_MEMORY");
  int i = 0;
  watched = NULL;
  if (!kind || strcmp(kind, "threads")) return;
  while (memories[i].begin && memories[i].begin != l->memory) i++;
  if (!memories[i].begin) {
    memories[i].begin = l->memory;
    memories[i].cells = mmap(NULL, l->bytes * sizeof(cell), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memories[i].cells == MAP_FAILED) perror("stand-in GPU: what threads touch"), abort();
  }
  watched = &memories[i], launch++, together = l->cooperative;
  e->memory = l->memory, e->bytes = l->bytes;
  e->reads = reads, e->writes = writes, e->past = past, e->coherent = ignored, e->order = order;
}
