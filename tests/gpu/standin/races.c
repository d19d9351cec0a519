// races.c - finds pieces of work that touch the same bytes without an order between them, where
// STANDIN_MEMORY=races asks for it, in whichever order they happen to run here.
//
// Each piece has a vector clock. It is the next on a lane, and has seen of each lane what the
// pieces that it waits for have seen: the one before it in its stream, events, edges of a graph,
// and what the host had waited for when it was put in line. Lanes are no streams: a piece goes on
// with any lane whose last one it has seen. Of 4 bytes each, it is known which piece wrote them
// last, and which two have read them since. Accesses are a kernel's own loads and stores
// (device.hpp), the ranges of copies and fills, and those that libraries announce by
// standin_uses().
#define _GNU_SOURCE
#include <sys/mman.h>
#include "tests/gpu/standin/driver.h"

enum { NAMES = 1024, TICK_BITS = 26, MAX_USES = 100 };
typedef struct {
  uint32_t write, read[2];  // lane and tick; 0: none
} cell;
struct lanes {  // of a device
  unsigned tip[LANES], seen_by_host[LANES];
  const char *name[LANES][NAMES];
  cell *cells;
};
static struct lanes *lanes;
static op *running;
static int on = -1;

int si_races(void) {
  const char *kind = getenv("STANDIN_MEMORY");
  if (on < 0) on = kind && !strcmp(kind, "races");
  return on;
}

static void join(unsigned *to, const unsigned *source) {
  for (int l = 0; source && l < LANES; l++)
    if (source[l] > to[l]) to[l] = source[l];
}
void si_sees(op *o, const op *before) {
  if (o->clock && before && before->dev == o->dev) join(o->clock, before->clock);
}
void si_host_sees(struct device *d, const op *done) {
  if (!si_races() || !lanes) return;
  struct lanes *all = &lanes[d->ordinal];
  join(all->seen_by_host, done ? done->clock : all->tip);
}
void si_stream_sees(CUstream s, const op *done) {
  if (!si_races() || !done || done->dev != s->dev) return;
  if (!s->clock) s->clock = calloc(LANES, sizeof *s->clock);
  join(s->clock, done->clock);
}

// A line for each upload that comes before some work that was put in line earlier: "BYTES".
static void note_beside(const struct lanes *all, const op *o) {
  const char *path = getenv("STANDIN_BESIDE");
  const block *to = o->kind == COPY && path ? si_find(o->dst) : NULL, *source = si_find(o->src);
  if (!to || !to->dev || (source && source->dev)) return;
  int after = 1;
  for (unsigned l = 0; l < LANES; l++) after &= o->clock[l] >= all->tip[l];
  FILE *f = after ? NULL : fopen(path, "a");
  if (f) fprintf(f, "%zu\n", o->n), fclose(f);
}

void si_place(CUstream s, op *o) {
  if (!si_races() || o->epoch) return;
  if (!lanes) lanes = calloc(MAX_DEVICES, sizeof *lanes);
  struct lanes *all = &lanes[o->dev->ordinal];
  if (s) si_sees(o, s->last), join(o->clock, s->clock);
  join(o->clock, all->seen_by_host);
  note_beside(all, o);
  unsigned l = 0;
  while (l < LANES && o->clock[l] < all->tip[l]) l++;
  if (l == LANES) standin_say("more than %d pieces of work beside each other", LANES), abort();
  o->clock[l] = ++all->tip[l];
  o->epoch = (uint32_t)l << TICK_BITS | o->clock[l];
  all->name[l][o->clock[l] % NAMES] = o->name;
}

static int ordered(uint32_t epoch) {
  return !epoch || running->clock[epoch >> TICK_BITS] >= (epoch & ((1u << TICK_BITS) - 1));
}
static void report(const char *p, int write, uint32_t epoch, int written) {
  char text[200];
  unsigned tick = epoch & ((1u << TICK_BITS) - 1);
  standin_die(CUDA_ERROR_LAUNCH_FAILED,
              "%s %s %s, which %s %s: no stream, event, edge of a graph or wait orders them",
              running->name, write ? "writes" : "reads", si_describe(p, text, sizeof text),
              lanes[running->dev->ordinal].name[epoch >> TICK_BITS][tick % NAMES],
              written ? "writes" : "reads");
}
static void touch(cell *c, const char *p, int write) {
  uint32_t e = running->epoch;
  if (c->write != e && !ordered(c->write)) report(p, write, c->write, 1);
  if (!write) {
    if (c->read[0] == e || c->read[1] == e) return;
    c->read[!ordered(c->read[0])] = e;
    return;
  }
  for (int i = 0; i < 2; i++)
    if (c->read[i] != e && !ordered(c->read[i])) report(p, write, c->read[i], 0);
  *c = (cell){.write = e};
}

static void access_range(const void *address, size_t n, int write) {
  const char *p = address, *base;
  if (!running || !running->epoch) return;
  base = running->dev->end - ADDRESSES;
  if (p < base || p >= running->dev->end || !n) return;
  struct lanes *all = &lanes[running->dev->ordinal];
  if (!all->cells)
    all->cells = mmap(NULL, ADDRESSES / 4 * sizeof(cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t i = (size_t)(p - base) / 4, last = ((size_t)(p - base) + n - 1) / 4; i <= last; i++)
    touch(&all->cells[i], base + 4 * i, write);
}
static void reads(const void *p, size_t n) { access_range(p, n, 0); }
static void writes(const void *p, size_t n) { access_range(p, n, 1); }
static void past(void *to, const void *p, size_t n) {
  access_range(p, n, 0);
  memcpy(to, p, n);
}
static void order(int releases, int acquires) { (void)releases, (void)acquires; }

void races_watch(standin_engine *e, const char *memory, size_t bytes) {
  e->memory = memory, e->bytes = bytes;
  e->reads = reads, e->writes = writes, e->past = past, e->coherent = writes, e->order = order;
}

// ---- Work that is no kernel ---------------------------------------------------------------------

static _Thread_local struct use announced[MAX_USES];
static _Thread_local int nannounced;
void standin_uses(const void *p, size_t n, int writes) {
  if (!si_races()) return;
  if (nannounced == MAX_USES) abort();
  announced[nannounced++] = (struct use){p, n, writes};
}
void si_take_uses(op *o) {
  if (!nannounced) return;
  o->uses = malloc(sizeof announced), o->nuses = nannounced;
  memcpy(o->uses, announced, sizeof announced);
  nannounced = 0;
}
static void access_uses(const op *o) {
  for (int i = 0; i < o->nuses; i++)
    if (!o->uses[i].writes) access_range(o->uses[i].p, o->uses[i].n, 0);
  for (int i = 0; i < o->nuses; i++)
    if (o->uses[i].writes) access_range(o->uses[i].p, o->uses[i].n, 1);
}

// What lies between the rows of a copy is not touched.
static void access_rows(const char *p, const op *o, size_t pitch, int write) {
  for (size_t i = 0; i < o->rows; i++) access_range(p + i * pitch, o->n, write);
}

void si_accesses(op *o) {
  if (!si_races()) return;
  if (o->epoch) running = o;  // not so the nodes of a loop's body: they are the loop's
  if (o->kind == COPY && !o->data) access_rows(o->src, o, o->src_pitch, 0);
  if (o->kind == COPY) access_rows(o->dst, o, o->dst_pitch, 1);
  if (o->kind == SET) access_range(o->dst, o->n * o->width, 1);
  if (o->kind == EXTERN) access_uses(o);
}
