// test_barrier.c - the barrier of all blocks of a launch (ops/kernels/prelude.cu: gr_grid_arrive
// and gr_grid_wait) in every order of its instructions, for two blocks of two threads and three of
// one.
//
// The model: what a thread stores is first in a buffer of its block, from where each store goes to
// the device's memory at any time, in any order, and at the latest when the block releases. A load
// gets what the memory had at any time since the block last acquired. Atomic operations are of the
// memory. That is weaker than the hardware, so that a protocol that holds here holds there.
//
// Each thread writes its number of the round to a place of its own, meets the others, and reads all
// their places; places alternate, as those of a loop's carries do.
#include <stdint.h>
#include <stdlib.h>
#include "tests/check.h"

enum { MAX_OPS = 32, MAX_BLOCKS = 3, MAX_THREADS = 4, ROUNDS = 3, PLACES = 2 * MAX_THREADS };
typedef enum kind { STORE, SYNC, ADD, SPIN, LOAD } kind;
typedef struct instruction {
  kind kind;
  bool first;   // of the first thread of a block alone
  bool orders;  // an addition releases, a wait acquires
} instruction;
typedef struct protocol {
  instruction op[MAX_OPS];
  int n, blocks, threads;  // threads of a block
} protocol;

typedef struct state {
  uint8_t next[MAX_THREADS], round[MAX_THREADS];
  uint8_t waiting[MAX_BLOCKS];  // at __syncthreads: bits of threads
  uint8_t count;
  uint8_t memory[PLACES], buffer[PLACES];  // buffer 0: nothing
  uint8_t seen[MAX_BLOCKS][PLACES];        // the memory when it last acquired
} state;

// ---- The protocol's text ------------------------------------------------------------------------

// asm: the PTX that must be in the source for an instruction to order others.
static const struct statement {
  const char *text, *asm_text;
  enum { INSTRUCTION, FIRST, END } what;
  kind kind;
} statements[] = {{"__syncthreads();", NULL, INSTRUCTION, SYNC},
                  {"gr_release_one(count);", "red.release.gpu.add.u32 [%0], %1;", INSTRUCTION, ADD},
                  {"while (gr_acquire(count) < goal) __nanosleep(20);",
                   "ld.acquire.gpu.u32 %0, [%1];", INSTRUCTION, SPIN},
                  {"if (threadIdx.x == 0)", NULL, FIRST, SYNC},
                  {"}", NULL, END, SYNC}};

static char *read_source(void) {
  FILE *f = fopen(PRELUDE, "r");
  char *text = calloc(1, 1 << 16);
  CHECK(f && fread(text, 1, (1 << 16) - 1, f) > 0, "%s cannot be read", PRELUDE);
  if (f) fclose(f);
  return text;
}

// Appends the instructions of a function.
static void parse(const char *source, const char *name, protocol *p) {
  const char *text = strstr(source, name);
  bool first = false;
  CHECK(text, "there is no function %s", name);
  if (!text) return;
  text = strchr(text, '{') + 1;
  for (;;) {
    size_t k = 0;
    text += strspn(text, " \n");
    while (k < sizeof statements / sizeof *statements &&
           strncmp(text, statements[k].text, strlen(statements[k].text)))
      k++;
    CHECK(k < sizeof statements / sizeof *statements, "the model does not know: %.40s", text);
    if (k == sizeof statements / sizeof *statements) return;
    text += strlen(statements[k].text);
    const char *orders = statements[k].asm_text;
    if (statements[k].what == END) return;
    if (statements[k].what == INSTRUCTION)
      p->op[p->n++] =
          (instruction){statements[k].kind, first, orders && strstr(source, orders) != NULL};
    first = statements[k].what == FIRST;
  }
}

static protocol read_protocol(int blocks, int threads) {
  char *source = read_source();
  protocol p = {.blocks = blocks, .threads = threads, .n = 1, .op = {{.kind = STORE}}};
  parse(source, "void gr_grid_arrive(unsigned *count)", &p);
  parse(source, "void gr_grid_wait(const unsigned *count, unsigned goal)", &p);
  p.op[p.n++] = (instruction){.kind = LOAD};
  free(source);
  return p;
}

// ---- Steps --------------------------------------------------------------------------------------

static int place_of(int thread, int round) { return 2 * thread + round % 2; }

static void drain(state *s, int place) {
  if (s->buffer[place]) s->memory[place] = s->buffer[place], s->buffer[place] = 0;
}

// Whether all places have this round's number, whichever of the allowed values a load gets.
static bool sees_all(const protocol *p, const state *s, int block, int round) {
  for (int t = 0; t < p->blocks * p->threads; t++) {
    int place = place_of(t, round), want = round + 1;
    if (t / p->threads == block && s->buffer[place]) {
      if (s->buffer[place] != want) return false;
      continue;
    }
    if (s->memory[place] != want) return false;
    if (t / p->threads != block && s->seen[block][place] != want) return false;
  }
  return true;
}

typedef enum outcome { MOVED, BLOCKED, WRONG } outcome;

static void advance(const protocol *p, state *s, int t) {
  do {
    if (++s->next[t] == p->n) s->next[t] = 0, s->round[t]++;
  } while (p->op[s->next[t]].first && t % p->threads);
}

static outcome meet(const protocol *p, state *s, int t) {
  int b = t / p->threads;
  if (s->waiting[b] >> t % p->threads & 1) return BLOCKED;
  s->waiting[b] |= (uint8_t)(1 << t % p->threads);
  if (s->waiting[b] != (1 << p->threads) - 1) return MOVED;
  s->waiting[b] = 0;
  for (int i = 0; i < p->threads; i++) advance(p, s, b * p->threads + i);
  return MOVED;
}

static outcome step(const protocol *p, state *s, int t) {
  int b = t / p->threads, round = s->round[t];
  if (round == ROUNDS) return BLOCKED;
  bool orders = p->op[s->next[t]].orders;
  switch (p->op[s->next[t]].kind) {
    case SYNC:
      return meet(p, s, t);
    case STORE:
      drain(s, place_of(t, round));  // stores to one place stay in order
      s->buffer[place_of(t, round)] = (uint8_t)(round + 1);
      break;
    case ADD:
      for (int i = 0; orders && i < 2 * p->threads; i++) drain(s, 2 * b * p->threads + i);
      s->count++;
      break;
    case SPIN:
      if (s->count < (round + 1) * p->blocks) return BLOCKED;
      if (orders) memcpy(s->seen[b], s->memory, sizeof s->memory);
      break;
    case LOAD:
      if (!sees_all(p, s, b, round)) return WRONG;
      break;
  }
  advance(p, s, t);
  return MOVED;
}

// ---- All states
// -----------------------------------------------------------------------------------

typedef struct states {
  state *of;
  uint32_t *slot;  // 1 + the number of the state with that hash
  size_t n, room, slots;
} states;

static void grow(states *all) {
  all->room = all->room ? 2 * all->room : 1 << 16;
  all->slots = 4 * all->room;
  all->of = realloc(all->of, all->room * sizeof *all->of);
  free(all->slot);
  all->slot = calloc(all->slots, sizeof *all->slot);
}

static size_t slot_of(const states *all, const state *s) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < sizeof *s; i++) h = (h ^ ((const uint8_t *)s)[i]) * 1099511628211u;
  size_t k = (h ^ h >> 29) & (all->slots - 1);
  while (all->slot[k] && memcmp(&all->of[all->slot[k] - 1], s, sizeof *s))
    k = (k + 1) & (all->slots - 1);
  return k;
}

static void reach(states *all, state s) {  // a copy: the states may move
  if (all->n == all->room) {
    grow(all);
    for (size_t i = 0; i < all->n; i++) all->slot[slot_of(all, &all->of[i])] = (uint32_t)i + 1;
  }
  size_t k = slot_of(all, &s);
  if (all->slot[k]) return;
  all->of[all->n++] = s;
  all->slot[k] = (uint32_t)all->n;
}

// What can follow a state; NULL, or what is wrong with it.
static const char *follow(const protocol *p, states *all, size_t i) {
  bool over = true, moved = false;
  for (int t = 0; t < p->blocks * p->threads; t++) {
    state next = all->of[i];
    outcome o = step(p, &next, t);
    over &= next.round[t] == ROUNDS;
    if (o == WRONG) return "a thread reads what is not of its round";
    if (o == MOVED) reach(all, next), moved = true;
  }
  for (int place = 0; place < 2 * p->blocks * p->threads; place++) {
    state next = all->of[i];
    if (!next.buffer[place]) continue;
    drain(&next, place);
    reach(all, next);
  }
  return moved || over ? NULL : "the threads wait for each other";
}

static const char *explore(const protocol *p, size_t *n) {
  states all = {0};
  const char *wrong = NULL;
  reach(&all, (state){0});
  for (size_t i = 0; i < all.n && !wrong; i++) wrong = follow(p, &all, i);
  *n = all.n;
  free(all.of), free(all.slot);
  return wrong;
}

static void every_order(void) {
  for (int blocks = 2; blocks <= MAX_BLOCKS; blocks++) {
    protocol p = read_protocol(blocks, blocks == 2 ? 2 : 1);
    size_t n;
    const char *wrong = explore(&p, &n);
    printf("  %d blocks of %d threads: %zu states\n", blocks, p.threads, n);
    CHECK(!wrong, "%d blocks: %s", blocks, wrong);
    CHECK(n > 1000, "%zu states are too few", n);
  }
}

// Without one of the instructions, or its order, something is wrong: the model is not too strong,
// and the protocol has nothing that is not needed.
static void each_instruction_is_needed(void) {
  protocol p = read_protocol(2, 2);
  for (int k = 1; k < p.n - 1; k++) {
    protocol less = p;
    size_t n;
    memmove(less.op + k, less.op + k + 1, sizeof *less.op * (size_t)(p.n - k - 1));
    less.n--;
    CHECK(explore(&less, &n), "nothing is wrong without instruction %d of %d", k, p.n);
    less = p, less.op[k].orders = false;
    CHECK(!p.op[k].orders || explore(&less, &n), "instruction %d of %d need not order", k, p.n);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"every_order", every_order},
             {"each_instruction_is_needed", each_instruction_is_needed});
}
