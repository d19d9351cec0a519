// shadow.c - see shadow.h.
#define _GNU_SOURCE
#include "runtime/device/shadow.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A range of bytes with one history; it ends where the next range begins.
typedef struct range {
  size_t begin;
  uint64_t stamp;  // of the last write; 0: never written
  const void *writer;
  const char *by;
  gr_queue queue;                          // the queue of the last write
  uint64_t written, read[GR_QUEUE_COUNT];  // in the clocks of these queues
} range;

typedef struct block {
  struct block *next;
  char *memory;
  size_t bytes;
  range *ranges;  // ascending; the first begins at 0. Ranges are split but never joined
  uint32_t n, cap;
} block;

typedef struct clock {
  uint64_t of[GR_QUEUE_COUNT];  // how far each queue's work is known to be done
} clock;

struct gr_shadow {
  block *blocks;
  uint64_t stamp;
  clock queue[GR_QUEUE_COUNT], event[GR_EVENT_COUNT];
  bool recorded[GR_EVENT_COUNT];
};

static const char *const queue_names[GR_QUEUE_COUNT] = {"compute", "transfer", "gather",
                                                        "reduce",  "fetch",    "ahead"};

static const char *event_name(gr_device_event e) {
  static const char *const names[GR_EVENT_GATHERED] = {"transferred", "computed", "forked", "ahead",
                                                       "taken"};
  if (e < GR_EVENT_GATHERED) return names[e];
  return e < GR_EVENT_REDUCED ? "gathered" : e < GR_EVENT_FETCHED ? "reduced" : "fetched";
}

gr_status gr_shadow_create(gr_shadow **out) {
  *out = calloc(1, sizeof **out);
  return *out ? GR_OK : gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a device");
}

static void drop(block *b) {
  munmap(b->memory, b->bytes + 1);
  free(b->ranges), free(b);
}

void gr_shadow_destroy(gr_shadow *s) {
  if (!s) return;
  for (block *b = s->blocks, *next; b; b = next) {
    next = b->next;
    drop(b);
  }
  free(s);
}

gr_status gr_shadow_reserve(gr_shadow *s, size_t bytes, void **out) {
  block *b = calloc(1, sizeof *b);
  range *first = calloc(16, sizeof *first);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, bytes + 1, PROT_NONE, flags, -1, 0);
  if (!b || !first || memory == MAP_FAILED) {
    free(b), free(first);
    if (memory != MAP_FAILED) munmap(memory, bytes + 1);
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no addresses for %.1f MB", (double)bytes / 1e6);
  }
  *b = (block){
      .next = s->blocks, .memory = memory, .bytes = bytes, .ranges = first, .n = 1, .cap = 16};
  s->blocks = b, *out = memory;
  return GR_OK;
}

void gr_shadow_release(gr_shadow *s, void *memory) {
  for (block **p = &s->blocks; *p; p = &(*p)->next) {
    block *b = *p;
    if (b->memory != memory) continue;
    *p = b->next;
    drop(b);
    return;
  }
}

// ---- Ranges of an access ------------------------------------------------------------

static block *block_of(const gr_shadow *s, const void *address, size_t bytes) {
  uintptr_t begin = (uintptr_t)address;
  for (block *b = s->blocks; b; b = b->next) {
    uintptr_t start = (uintptr_t)b->memory;
    if (begin >= start && begin - start <= b->bytes && bytes <= b->bytes - (begin - start))
      return b;
  }
  return NULL;
}

// The index of the range that holds a byte.
static uint32_t range_of(const block *b, size_t byte) {
  uint32_t low = 0, high = b->n;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (b->ranges[middle].begin <= byte)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Splits the ranges at `byte`; returns the index of the range there, or UINT32_MAX if out of
// memory.
static uint32_t split_at(block *b, size_t byte) {
  uint32_t i = range_of(b, byte);
  if (b->ranges[i].begin == byte) return i;
  if (b->n == b->cap) {
    range *more = realloc(b->ranges, 2 * (size_t)b->cap * sizeof *more);
    if (!more) return UINT32_MAX;
    b->ranges = more, b->cap *= 2;
  }
  memmove(&b->ranges[i + 2], &b->ranges[i + 1], (b->n - i - 1) * sizeof *b->ranges);
  b->ranges[i + 1] = b->ranges[i];
  b->ranges[i + 1].begin = byte;
  b->n++;
  return i + 1;
}

// The ranges that cover exactly the bytes of an access: [*first, *end) of *out.
static gr_status find_ranges(gr_shadow *s, const gr_shadow_access *a, block **out, uint32_t *first,
                             uint32_t *end) {
  block *b = *out = block_of(s, a->address, a->bytes);
  if (!b)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%zu bytes at %p are not within one block of memory",
                   a->bytes, a->address);
  size_t begin = (size_t)((const char *)a->address - b->memory), to = begin + a->bytes;
  *first = split_at(b, begin);
  *end = to == b->bytes ? b->n : split_at(b, to);
  if (*first != UINT32_MAX && *end != UINT32_MAX) return GR_OK;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to check that of a device");
}

// ---- Accesses -----------------------------------------------------------------------------------

static gr_status unordered(const gr_shadow_access *a, const char *with, gr_queue other) {
  return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                 "the %s queue does not wait for the %s queue, which %s these bytes",
                 queue_names[a->queue], queue_names[other], with);
}

static gr_status check_read(const gr_shadow *s, const gr_shadow_access *a, const range *r) {
  if (!r->stamp && a->earliest)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "nothing was ever written there");
  if (r->queue != a->queue && s->queue[a->queue].of[r->queue] < r->written)
    return unordered(a, "writes", r->queue);
  bool meant = !a->writer || !r->writer || a->writer == r->writer;
  if (meant && r->stamp >= a->earliest && r->stamp <= a->latest) return GR_OK;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                 !meant || r->stamp > a->latest
                     ? "%s has overwritten it"
                     : "%s was the last to write there, before it was made",
                 r->by);
}

static gr_status check_write(const gr_shadow *s, const gr_shadow_access *a, const range *r) {
  const clock *known = &s->queue[a->queue];
  if (r->stamp && r->queue != a->queue && known->of[r->queue] < r->written)
    return unordered(a, "writes", r->queue);
  for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++)
    if (q != a->queue && known->of[q] < r->read[q]) return unordered(a, "reads", q);
  return GR_OK;
}

gr_status gr_shadow_read(gr_shadow *s, const gr_shadow_access *a) {
  block *b;
  uint32_t first, end;
  if (!a->bytes) return GR_OK;
  GR_TRY(find_ranges(s, a, &b, &first, &end));
  uint64_t now = ++s->queue[a->queue].of[a->queue];
  for (uint32_t i = first; i < end; i++) {
    GR_TRY(check_read(s, a, &b->ranges[i]));
    b->ranges[i].read[a->queue] = now;
  }
  return GR_OK;
}

gr_status gr_shadow_write(gr_shadow *s, const gr_shadow_access *a) {
  block *b;
  uint32_t first, end;
  s->stamp++;
  if (!a->bytes) return GR_OK;
  GR_TRY(find_ranges(s, a, &b, &first, &end));
  uint64_t now = ++s->queue[a->queue].of[a->queue];
  for (uint32_t i = first; i < end; i++) {
    range *r = &b->ranges[i];
    GR_TRY(check_write(s, a, r));
    r->stamp = s->stamp, r->by = a->by, r->writer = a->writer, r->queue = a->queue,
    r->written = now;
  }
  return GR_OK;
}

const void *gr_shadow_writer(const gr_shadow *s, const void *address, size_t bytes) {
  const block *b = block_of(s, address, bytes);
  if (!b || !bytes) return NULL;
  size_t first = (size_t)((const char *)address - b->memory);
  uint32_t i = range_of(b, first);
  const void *writer = b->ranges[i].writer;
  while (++i < b->n && b->ranges[i].begin < first + bytes)
    if (b->ranges[i].writer != writer) return NULL;
  return writer;
}

uint64_t gr_shadow_stamp(const gr_shadow *s) { return s->stamp; }

// ---- Order --------------------------------------------------------------------------------------

static void learn(clock *c, const clock *other) {
  for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++)
    if (c->of[q] < other->of[q]) c->of[q] = other->of[q];
}

void gr_shadow_record(gr_shadow *s, gr_queue q, gr_device_event e) {
  s->event[e] = s->queue[q], s->recorded[e] = true;
}

gr_status gr_shadow_wait(gr_shadow *s, gr_queue q, gr_device_event e) {
  if (!s->recorded[e])
    return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                   "the %s queue waits for the event '%s', which is not recorded", queue_names[q],
                   event_name(e));
  learn(&s->queue[q], &s->event[e]);
  return GR_OK;
}

// Everything that the host enqueues from now on, on any queue, runs after the work of this queue.
void gr_shadow_synchronise(gr_shadow *s, gr_queue q) {
  for (gr_queue other = 0; other < GR_QUEUE_COUNT; other++) learn(&s->queue[other], &s->queue[q]);
}
