// exec.c - runs one kernel: device threads as fibers, blocks in random order (cooperative: all at
// once).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda.h>

#include "tests/gpu/standin/standin.h"
#include "tests/gpu/standin/threads.h"
#include "tests/gpu/standin/weak.h"

enum { STACK = 64 << 10, MAX_FIBERS = 16384 };
enum state { READY, AT_BLOCK, AT_WARP, AT_GRID, LEFT };

struct fiber {
  void *sp;
  int stack;  // -1: it has not begun
  standin_thread t;
  struct block *block;
  enum state state;
  int line;
  unsigned mask, waiting;  // waiting: the lanes of its warp at warp operations, if it is the first
  uint64_t value;
  const uint64_t *seen;  // the values of its last warp operation
};
struct block {
  struct fiber *fiber;
  int n, left, arrived, sum, result;
  int first, nready, *ready;  // a ring
  char *saved;                // its shared memory while another block runs
};

static struct {
  const standin_launch *l;
  uint64_t *rng;
  struct fiber *fiber, *cur;
  // The values of the last operation of all lanes of a warp, by its first fiber, and of those of
  // some of its lanes, by each fiber.
  uint64_t (*whole)[32], (*seen)[32];
  struct block *block, *loaded;
  int *ready, nblocks, at_grid, total, budget;
  int ahead;  // warps run as far as they can
  char *stacks, *saved;
  int nstacks, nspare, spare[MAX_FIBERS];  // stacks used so far; of these, those that are free
  size_t statics;
  void *main_sp;
} x;

#ifndef __x86_64__
#error "standin_switch needs a version for this processor"
#endif
void standin_switch(void **save, void *load);
__asm__(
    ".text\n.globl standin_switch\n.hidden standin_switch\n.type standin_switch,@function\n"
    "standin_switch:\n"
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");

void standin_where(char *text, size_t size) {
  const standin_thread *t = x.cur ? &x.cur->t : NULL;
  if (t)
    snprintf(text, size, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u)", x.l->kernel->name,
             t->bid[0], t->bid[1], t->bid[2], t->tid[0], t->tid[1], t->tid[2]);
  else
    snprintf(text, size, "device work");
}

static void die_here(const char *why) {
  char where[200];
  standin_where(where, sizeof where);
  standin_die(CUDA_ERROR_LAUNCH_FAILED, "%s: %s", where, why);
}

// Where the k-th of the ready ones is in the ring.
static int *ring_at(struct block *b, int k) {
  int i = b->first + k;
  return &b->ready[i < b->n ? i : i - b->n];
}
static void make_ready(struct fiber *f) {
  f->state = READY;
  struct block *b = f->block;
  *ring_at(b, b->nready++) = (int)(f - b->fiber);
}
// Takes fiber `k` of the ready ones; the first ready one takes its place, unless it was the last.
static struct fiber *take_ready(struct block *b, int k) {
  int *taken = ring_at(b, k), i = *taken;
  if (k < --b->nready) {
    *taken = b->ready[b->first];
    b->first = b->first + 1 < b->n ? b->first + 1 : 0;
  }
  return &b->fiber[i];
}
static void wait_as(enum state s, int line) { x.cur->state = s, x.cur->line = line; }
// The thread of the block that runs next, if any can and the block's turn is not over.
static struct fiber *choose_next(struct block *b) {
  if (!b->nready || !x.budget) return NULL;
  x.budget--;
  int last = x.ahead && standin_random(x.rng, 16);
  x.cur = take_ready(b, last ? b->nready - 1 : (int)standin_random(x.rng, (unsigned)b->nready));
  *x.l->module->self = &x.cur->t;
  return x.cur;
}

static void enter(void);
// Goes on with a thread, or with run_blocks. A thread gets its stack when it begins.
static void switch_to(void **save, struct fiber *next) {
  if (next && next->stack < 0) {
    next->stack = x.nspare ? x.spare[--x.nspare] : x.nstacks++;
    // Tops of stacks at different offsets: at the same one they would share a few sets of the
    // cache.
    char *end = x.stacks + (size_t)(next->stack + 1) * STACK - next->stack % 16 * 256;
    uint64_t *top = (uint64_t *)end - 8;
    memset(top, 0, 64);
    top[6] = (uint64_t)(uintptr_t)enter;  // seen by `ret` with the stack aligned as after a call
    next->sp = top;
  }
  standin_switch(save, next ? next->sp : x.main_sp);
}

// Lets other threads run until this one is ready and chosen: one of its block, or else run_blocks
// goes on.
static void to_scheduler(void) {
  struct fiber *self = x.cur, *next = choose_next(self->block);
  if (next != self) switch_to(&self->sp, next);
}

static int block_sync(int line, int value) {
  struct block *b = x.cur->block;
  wait_as(AT_BLOCK, line);
  b->sum += value;
  if (++b->arrived == b->n) {
    for (int i = 0; i < b->n; i++) {
      if (b->fiber[i].line != line)
        die_here("threads of the block wait at different __syncthreads");
      make_ready(&b->fiber[i]);
      threads_pass((int)(&b->fiber[i] - x.fiber));
    }
    b->result = b->sum, b->sum = b->arrived = 0;
  }
  to_scheduler();
  return b->result;
}

// Whether all lanes of the mask wait at a warp operation with this mask.
static int warp_waits(const struct fiber *warp, unsigned mask) {
  if ((warp->waiting & mask) != mask) return 0;
  for (unsigned left = mask; left; left &= left - 1)
    if (warp[__builtin_ctz(left)].mask != mask) return 0;
  return 1;
}

// Shows each lane the values of all. All lanes share them: the next operation of all ends when each
// has read them. Some have their own, for another operation of others may end before. Where these
// are all 0, it may be __syncwarp.
static void end_warp_operation(struct fiber *warp, int lanes, unsigned mask) {
  int first = (int)(warp - x.fiber), whole = mask == ~0u >> (lanes < 32 ? 32 - lanes : 0);
  uint64_t values[32] = {0}, any = 0;
  for (unsigned left = mask; left; left &= left - 1)
    any |= values[__builtin_ctz(left)] = warp[__builtin_ctz(left)].value;
  if (!any) threads_meet(first, mask);
  warp->waiting &= ~mask;
  if (whole) memcpy(x.whole[first], values, sizeof values);
  for (unsigned left = mask; left; left &= left - 1) {
    struct fiber *f = &warp[__builtin_ctz(left)];
    f->seen = whole ? x.whole[first] : memcpy(x.seen[f - x.fiber], values, sizeof values);
    make_ready(f);
  }
}

static const uint64_t *warp_sync(int line, unsigned mask, uint64_t value) {
  struct block *b = x.cur->block;
  int self = (int)(x.cur - b->fiber), first = self & ~31;
  if (!(mask >> (self & 31) & 1)) die_here("the mask of a warp operation lacks the calling lane");
  wait_as(AT_WARP, line);
  x.cur->mask = mask, x.cur->value = value;
  int lanes = b->n - first;
  b->fiber[first].waiting |= 1u << (self & 31);
  if (warp_waits(b->fiber + first, mask)) end_warp_operation(b->fiber + first, lanes, mask);
  to_scheduler();
  return x.cur->seen;
}

int standin_fiber(void) { return (int)(x.cur - x.fiber); }

static void grid_sync(int line) {
  if (!x.l->cooperative) die_here("a grid barrier in a launch that is not cooperative");
  wait_as(AT_GRID, line);
  if (++x.at_grid == x.total) {
    x.at_grid = 0;
    for (int i = 0; i < x.total; i++) make_ready(&x.fiber[i]);
  }
  to_scheduler();
}

static void yield(void) {
  if (x.total == 1) return;
  make_ready(x.cur);
  to_scheduler();
}

static void condition(uint64_t loop, unsigned value) {
  if (!standin_condition(loop, value)) die_here("a condition of no loop that is running is set");
}

static standin_engine engine = {block_sync, warp_sync, grid_sync, yield, die_here, condition};

// The threads of one stack: when one leaves, another that has not begun goes on with it, without a
// switch.
static void enter(void) {
  for (;;) {
    x.l->kernel->call(x.l->args);
    struct fiber *left = x.cur, *next;
    left->state = LEFT;
    left->block->left++;
    next = choose_next(left->block);
    if (next && next->stack < 0) {
      next->stack = left->stack;
      continue;
    }
    x.spare[x.nspare++] = left->stack;
    switch_to(&left->sp, next);
  }
}

// No thread can run but not all have left: say which threads wait where.
static void diverged(void) {
  struct block *b = x.block;
  while (b->left == b->n || (b->arrived == 0 && x.at_grid == 0 && b + 1 < x.block + x.nblocks)) {
    if (b + 1 == x.block + x.nblocks) break;
    b++;
  }
  static const char *const state_names[] = {"run", "wait at __syncthreads",
                                            "wait at a warp operation", "wait at the grid barrier",
                                            "have left the kernel"};
  char text[600] = "";
  size_t used = 0;
  for (int i = 0; i < b->n && used + 80 < sizeof text; i++) {
    struct fiber *f = &b->fiber[i], *g = b->fiber;
    while (g < f && !(g->state == f->state && (g->line == f->line || g->state == LEFT))) g++;
    if (g < f) continue;
    int same = 0;
    for (int j = i; j < b->n; j++)
      same += b->fiber[j].state == f->state && (b->fiber[j].line == f->line || f->state == LEFT);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %s", used ? ", " : "", same,
                             state_names[f->state]);
    if (f->state != LEFT)
      used += (size_t)snprintf(text + used, sizeof text - used, " in line %d", f->line);
  }
  unsigned *at_block = b->fiber->t.bid;
  standin_die(CUDA_ERROR_LAUNCH_FAILED, "kernel %s, block (%u,%u,%u): its threads parted: %s",
              x.l->kernel->name, at_block[0], at_block[1], at_block[2], text);
}

static void start_block(struct block *b, int slot, unsigned index) {
  const standin_launch *l = x.l;
  int n = (int)(l->block[0] * l->block[1] * l->block[2]);
  *b = (struct block){.fiber = x.fiber + slot * n, .n = n, .ready = x.ready + slot * n};
  b->saved = x.saved + (size_t)slot * (x.statics + l->dynamic);
  memset(b->saved, 0xff, x.statics + l->dynamic);
  for (int i = 0; i < n; i++) {
    struct fiber *f = &b->fiber[i];
    unsigned u = (unsigned)i, bx = l->block[0], by = l->block[1], gx = l->grid[0], gy = l->grid[1];
    *f = (struct fiber){.stack = -1,
                        .block = b,
                        .t = {.tid = {u % bx, u / bx % by, u / bx / by},
                              .bid = {index % gx, index / gx % gy, index / gx / gy}}};
    memcpy(f->t.bdim, l->block, sizeof l->block);
    memcpy(f->t.gdim, l->grid, sizeof l->grid);
    make_ready(f);
    threads_start((int)(f - x.fiber), index, u);
  }
}

static void load(struct block *b) {
  const standin_module_t *m = x.l->module;
  if (x.loaded == b) return;
  weak_switch((int)(b - x.block));
  if (x.loaded) {
    memcpy(x.loaded->saved, m->shared_begin, x.statics);
    memcpy(x.loaded->saved + x.statics, m->dynamic, x.l->dynamic);
  }
  memcpy(m->shared_begin, b->saved, x.statics);
  memcpy(m->dynamic, b->saved + x.statics, x.l->dynamic);
  x.loaded = b;
}

static void run_blocks(int n) {
  x.nblocks = n, x.loaded = NULL;
  for (;;) {
    struct block *b = NULL;
    unsigned seen = 0;
    int done = 1;
    for (int i = 0, first = x.loaded ? (int)(x.loaded - x.block) + 1 : 0; i < n; i++) {
      struct block *c = &x.block[(first + i) % n];
      done &= c->left == c->n;
      if (c->nready && standin_random(x.rng, seen + 1) == seen) b = c;
      seen += c->nready > 0;
    }
    if (done) return;
    if (!b) diverged();
    load(b);
    // A fiber that yields is ready again: leave the block after a while so that others get on.
    x.budget = 4 * b->n;
    for (struct fiber *f; (f = choose_next(b));) switch_to(&x.main_sp, f);
    x.cur = NULL;
  }
}

void standin_run(const standin_launch *l, uint64_t *rng) {
  unsigned blocks = l->grid[0] * l->grid[1] * l->grid[2],
           per = l->block[0] * l->block[1] * l->block[2];
  unsigned slots = l->cooperative ? blocks : 1;
  x.ahead = (int)standin_random(rng, 2);
  x.l = l, x.rng = rng, x.cur = NULL, x.nstacks = x.nspare = x.at_grid = 0,
  x.total = (int)(slots * per);
  x.statics = (size_t)(l->module->shared_end - l->module->shared_begin);
  if (x.total > MAX_FIBERS)
    standin_die(CUDA_ERROR_NOT_SUPPORTED, "more than %d device threads at once", MAX_FIBERS);
  if (!x.stacks)
    x.stacks = mmap(NULL, (size_t)MAX_FIBERS * STACK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  x.fiber = realloc(x.fiber, (size_t)x.total * sizeof *x.fiber);
  x.seen = realloc(x.seen, (size_t)x.total * sizeof *x.seen);
  x.whole = realloc(x.whole, (size_t)x.total * sizeof *x.whole);
  x.ready = realloc(x.ready, (size_t)x.total * sizeof *x.ready);
  x.block = realloc(x.block, slots * sizeof *x.block);
  x.saved = realloc(x.saved, slots * (x.statics + l->dynamic) + 1);
  *l->module->engine = &engine;
  weak_begin(&engine, l->memory, l->bytes, l->cooperative ? (int)blocks : 0);
  if (l->watched) races_watch(&engine, l->memory, l->bytes);
  threads_begin(&engine, l);
  if (l->cooperative) {
    for (unsigned i = 0; i < blocks; i++) start_block(&x.block[i], (int)i, i);
    run_blocks((int)blocks);
    weak_end();
  } else {  // an order drawn from the seed: index -> (first + index * stride) mod blocks
    unsigned first = standin_random(rng, blocks), stride = 1 + standin_random(rng, blocks), a, b;
    do {
      for (a = stride, b = blocks; b;) {
        unsigned r = a % b;
        a = b, b = r;
      }
    } while (a != 1 && stride++);
    for (unsigned i = 0; i < blocks; i++) {
      start_block(&x.block[0], 0, (unsigned)((first + (uint64_t)i * stride) % blocks));
      run_blocks(1);
    }
  }
}
