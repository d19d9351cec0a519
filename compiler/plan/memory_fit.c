// memory_fit.c - packs live ranges: in some order, each goes to the lowest gap that is free for its
// whole duration. Which order is best depends on the graph (the problem is NP-hard), so several are
// tried: long ranges first leave few holes, large ranges first leave few large holes. Then the
// items that determine the peak of the best order are moved to the front, a few times.
//
// Placing n live ranges in an arbitrary order takes O(n^2) steps, so many thousands of them are
// placed only in order of time, as an allocator would, which knows the gaps at each moment.
#include "compiler/plan/memory_fit.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/plan/sort.h"

enum { ROUNDS = 40 };
static const double MAX_STEPS = 2e8;  // limit on placing in arbitrary orders, per graph

typedef struct item {
  const gr_live_range *range;
  uint32_t index;
  size_t offset;
} item;

static size_t length(const gr_live_range *l) { return (size_t)(l->last - l->first) + 1; }

static size_t bytes_of(const gr_live_range *l) { return l->bytes; }
static size_t area_of(const gr_live_range *l) { return l->bytes * length(l); }

// Larger keys first; on ties the first in the list, so that the order is deterministic.
static int by_key(size_t x, size_t y, const item *a, const item *b) {
  if (x != y) return x < y ? 1 : -1;
  return a->index < b->index ? -1 : 1;
}
static void sort_by_key(gr_arena *arena, item *items, uint32_t n, const gr_live_range *ranges,
                        size_t (*key)(const gr_live_range *)) {
  gr_sort_key *keys = GR_TAKE(arena, gr_sort_key, n);
  size_t most = 0;
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = (gr_sort_key){key(&ranges[i]), i};
    if (keys[i].key > most) most = keys[i].key;
  }
  for (uint32_t i = 0; i < n; i++) keys[i].key = most - keys[i].key;
  keys = gr_sort_keys(arena, keys, n);
  for (uint32_t i = 0; i < n; i++)
    items[i] = (item){.range = &ranges[keys[i].id], .index = keys[i].id};
}
static int by_start(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->range->first != y->range->first) return x->range->first < y->range->first ? -1 : 1;
  return by_key(x->range->bytes, y->range->bytes, x, y);
}

// Counts: a step of time has few.
static void sort_by_start(gr_arena *arena, item *items, uint32_t n, const gr_live_range *ranges,
                          uint32_t n_nodes) {
  uint32_t *end = GR_NEW(arena, uint32_t, n_nodes + 2);  // by step
  for (uint32_t i = 0; i < n; i++) end[ranges[i].first + 1]++;
  for (uint32_t t = 1; t <= n_nodes + 1; t++) end[t] += end[t - 1];
  for (uint32_t i = 0; i < n; i++)
    items[end[ranges[i].first]++] = (item){.range = &ranges[i], .index = i};
  for (uint32_t i = 0, k; i < n; i = k) {
    for (k = i + 1; k < n && items[k].range->first == items[i].range->first;) k++;
    if (k > i + 1) qsort(items + i, k - i, sizeof *items, by_start);
  }
}

// Lists the items by the step of time that they end with, and in the order of the list.
static void sort_by_end(gr_arena *arena, item *items, uint32_t n, uint32_t n_nodes, item **out) {
  uint32_t *end = GR_NEW(arena, uint32_t, n_nodes + 2);
  item **listed = GR_TAKE(arena, item *, n);
  for (uint32_t i = 0; i < n; i++) listed[items[i].index] = &items[i];
  for (uint32_t i = 0; i < n; i++) end[items[i].range->last + 1]++;
  for (uint32_t t = 1; t <= n_nodes + 1; t++) end[t] += end[t - 1];
  for (uint32_t i = 0; i < n; i++) out[end[listed[i]->range->last]++] = listed[i];
}

// What is placed already, by offset: in columns, so that a walk over them, which is most of the
// work of planning a long graph, compares LANES of them at once; and in parts, so that one more
// moves few of them.
enum { LANES = 32, PART = 4 * LANES };
typedef struct part {
  size_t begin[PART], end[PART];
  uint32_t first[PART], last[PART];
  uint32_t n;
} part;
typedef struct blocks {
  part *parts, **in_order;  // n of them
  uint32_t n;
} blocks;

static blocks make_blocks(gr_arena *a, uint32_t n) {
  uint32_t most = n / (PART / 2) + 2;  // one that is full is halved
  return (blocks){.parts = GR_NEW(a, part, most), .in_order = GR_NEW(a, part *, most)};
}

// Those that are not placed are live at no node.
static part *add_part(blocks *b) {
  part *p = &b->parts[b->n++];
  memset(p->first, 0xff, sizeof p->first);
  p->n = 0;
  return p;
}

// Bit k: block j + k is live at some node at which r is.
static uint32_t live_with(const part *p, uint32_t j, const gr_live_range *r) {
  const uint32_t *first = p->first + j, *last = p->last + j;
  uint32_t bits = 0;
  for (uint32_t k = 0; k < LANES; k++)
    bits |= (first[k] <= r->last ? 1u << k : 0) & (r->first <= last[k] ? 1u << k : 0);
  return bits;
}

// The same in one part; whether the gap is below the part's end.
static bool find_in_part(const part *p, const gr_live_range *r, size_t *offset) {
  for (uint32_t j = 0; j < p->n; j += LANES) {
    if (p->begin[j] >= *offset + r->bytes) return true;
    for (uint32_t bits = live_with(p, j, r); bits; bits &= bits - 1) {
      uint32_t k = j + (uint32_t)__builtin_ctz(bits);
      if (p->begin[k] >= *offset + r->bytes) return true;
      if (p->end[k] > *offset) *offset = p->end[k];
    }
  }
  return false;
}

// The lowest offset at which r overlaps none of the blocks.
static size_t find_gap(const blocks *b, const gr_live_range *r) {
  size_t offset = 0;
  for (uint32_t i = 0; i < b->n; i++)
    if (find_in_part(b->in_order[i], r, &offset)) break;
  return offset;
}

// Moves block k and those behind it of one part to place `to` of another, or of the same.
static void move_blocks(const part *p, uint32_t k, part *q, uint32_t to) {
  uint32_t n = p->n - k;
  memmove(q->begin + to, p->begin + k, sizeof *q->begin * n);
  memmove(q->end + to, p->end + k, sizeof *q->end * n);
  memmove(q->first + to, p->first + k, sizeof *q->first * n);
  memmove(q->last + to, p->last + k, sizeof *q->last * n);
}

// Halves the part in place i.
static void halve(blocks *b, uint32_t i) {
  part *p = b->in_order[i];
  memmove(b->in_order + i + 2, b->in_order + i + 1, sizeof *b->in_order * (b->n - i - 1));
  part *q = b->in_order[i + 1] = add_part(b);
  move_blocks(p, PART / 2, q, 0);
  memset(p->first + PART / 2, 0xff, sizeof *p->first * (PART / 2));
  p->n = q->n = PART / 2;
}

// The last part that begins at the offset or before; the first, if none does.
static uint32_t part_of(const blocks *b, size_t offset) {
  uint32_t i = 0, end = b->n;
  while (end - i > 1) {
    uint32_t middle = i + (end - i) / 2;
    if (b->in_order[middle]->begin[0] <= offset)
      i = middle;
    else
      end = middle;
  }
  return i;
}

// How many blocks of a part begin at the offset or before.
static uint32_t count_until(const part *p, size_t offset) {
  uint32_t k = 0, end = p->n;
  while (k < end) {
    uint32_t middle = k + (end - k) / 2;
    if (p->begin[middle] <= offset)
      k = middle + 1;
    else
      end = middle;
  }
  return k;
}

// Inserts a block behind those that begin at its offset or before.
static void insert(blocks *b, size_t offset, const gr_live_range *r) {
  uint32_t i = part_of(b, offset);
  if (b->in_order[i]->n == PART) {
    halve(b, i);
    i += b->in_order[i + 1]->begin[0] <= offset;
  }
  part *p = b->in_order[i];
  uint32_t k = count_until(p, offset);
  move_blocks(p, k, p, k + 1);
  p->begin[k] = offset, p->end[k] = offset + r->bytes;
  p->first[k] = r->first, p->last[k] = r->last;
  p->n++;
}

// Places each item, in order, in the lowest gap. Ends at the first whose end reaches `best`, which
// another order needs: its index is *n_placed then, and else n.
static size_t place(item *items, uint32_t n, blocks *placed, size_t best, uint32_t *n_placed) {
  size_t top = 0;
  placed->n = 0;
  placed->in_order[0] = add_part(placed);
  for (*n_placed = 0; *n_placed < n; ++*n_placed) {
    const gr_live_range *r = items[*n_placed].range;
    size_t offset = items[*n_placed].offset = find_gap(placed, r);
    if (offset + r->bytes >= best) return offset + r->bytes;
    insert(placed, offset, r);
    if (offset + r->bytes > top) top = offset + r->bytes;
  }
  return top;
}

// ---- In order of time ---------------------------------------------------------------

typedef struct gap {
  size_t begin, end;
} gap;
typedef struct gaps {
  gap *items;  // by address; adjacent gaps are joined, so there are few
  uint32_t n;
} gaps;

static size_t allocate(gaps *g, size_t bytes) {
  uint32_t i = 0;
  while (g->items[i].end - g->items[i].begin < bytes) i++;  // the last one has no end
  size_t begin = g->items[i].begin;
  g->items[i].begin += bytes;
  if (g->items[i].begin < g->items[i].end) return begin;
  memmove(g->items + i, g->items + i + 1, sizeof *g->items * (--g->n - i));
  return begin;
}

static void release(gaps *g, size_t begin, size_t limit) {
  uint32_t i = 0, end = g->n;
  while (i < end) {  // finds the first gap after it
    uint32_t middle = i + (end - i) / 2;
    if (g->items[middle].begin < limit)
      i = middle + 1;
    else
      end = middle;
  }
  bool joins_left = i && g->items[i - 1].end == begin, joins_right = g->items[i].begin == limit;
  if (joins_left && joins_right) {
    g->items[i - 1].end = g->items[i].end;
    memmove(g->items + i, g->items + i + 1, sizeof *g->items * (--g->n - i));
  } else if (joins_left) {
    g->items[i - 1].end = limit;
  } else if (joins_right) {
    g->items[i].begin = begin;
  } else {
    memmove(g->items + i + 1, g->items + i, sizeof *g->items * (g->n++ - i));
    g->items[i] = (gap){begin, limit};
  }
}

// The same as place() for items in order of `first`, in O(n * gaps).
static size_t place_in_time(gr_arena *arena, item *items, uint32_t n, uint32_t n_nodes) {
  item **ends = GR_TAKE(arena, item *, n);
  gaps g = {.items = GR_NEW(arena, gap, n + 2), .n = 1};
  size_t top = 0;
  uint32_t done = 0;
  g.items[0].end = SIZE_MAX;
  sort_by_end(arena, items, n, n_nodes, ends);
  for (uint32_t i = 0; i < n; i++) {
    for (; ends[done]->range->last < items[i].range->first; done++)
      if (ends[done]->range->bytes)
        release(&g, ends[done]->offset, ends[done]->offset + ends[done]->range->bytes);
    items[i].offset = allocate(&g, items[i].range->bytes);
    size_t end = items[i].offset + items[i].range->bytes;
    if (end > top) top = end;
  }
  return top;
}

// ---- All orders ---------------------------------------------------------------------

// By a key; NULL: in time.
static size_t (*const orders[])(const gr_live_range *) = {bytes_of, area_of, length, NULL};

static size_t max_live_bytes(gr_arena *arena, const gr_live_range *ranges, uint32_t n,
                             uint32_t n_nodes, uint32_t *peak) {
  size_t *more = GR_NEW(arena, size_t, n_nodes + 2), *less = GR_NEW(arena, size_t, n_nodes + 2);
  for (uint32_t i = 0; i < n; i++) {
    more[ranges[i].first] += ranges[i].bytes;
    less[ranges[i].last + 1] += ranges[i].bytes;
  }
  size_t now = 0, most = 0;
  *peak = 0;
  for (uint32_t i = 0; i <= n_nodes; i++) {
    now = now + more[i] - less[i];
    if (now > most) most = now, *peak = i;
  }
  return most;
}

static void save_offsets(gr_live_range *ranges, const item *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) ranges[items[i].index].offset = items[i].offset;
}

// The item with the highest end.
static uint32_t highest(const item *items, uint32_t n) {
  uint32_t worst = 0;
  for (uint32_t i = 1; i < n; i++)
    if (items[i].offset + items[i].range->bytes > items[worst].offset + items[worst].range->bytes)
      worst = i;
  return worst;
}

static void move_to_front(item *items, uint32_t worst) {
  item first = items[worst];
  memmove(items + 1, items, sizeof *items * worst);
  items[0] = first;
}

// Starts from the best order so far: most of the remaining gain is in a few misplaced items. The
// one that ends an order as no better than the best goes first in the next.
static size_t improve(gr_live_range *ranges, item *items, uint32_t n, blocks *placed, size_t best,
                      size_t enough, int rounds) {
  uint32_t n_placed = n;
  for (int round = 0; round < rounds && best > enough; round++) {
    move_to_front(items, n_placed < n ? n_placed : highest(items, n));
    size_t top = place(items, n, placed, best, &n_placed);
    if (n_placed < n) continue;
    best = top;
    save_offsets(ranges, items, n);
  }
  return best;
}

size_t gr_live_range_pack(gr_arena *arena, gr_live_range *ranges, uint32_t n, uint32_t n_nodes,
                          size_t *lower_bound, uint32_t *peak) {
  assert(ranges || !n);
  item *items = GR_NEW(arena, item, n + 1);
  blocks placed = make_blocks(arena, n);
  item *best_items = GR_NEW(arena, item, n + 1);
  size_t best = SIZE_MAX;
  int rounds = n ? (int)fmin(MAX_STEPS / n / n, ROUNDS + 3) : 0;
  *lower_bound = max_live_bytes(arena, ranges, n, n_nodes, peak);
  for (size_t o = 0; o < sizeof orders / sizeof *orders && best > *lower_bound; o++) {
    if (orders[o] && --rounds < 0) continue;
    if (orders[o])
      sort_by_key(arena, items, n, ranges, orders[o]);
    else
      sort_by_start(arena, items, n, ranges, n_nodes);
    uint32_t n_placed;
    size_t top = orders[o] ? place(items, n, &placed, best, &n_placed)
                           : place_in_time(arena, items, n, n_nodes);
    if (top >= best) continue;
    best = top;
    save_offsets(ranges, items, n);
    memcpy(best_items, items, sizeof *items * n);
  }
  if (n)
    best = improve(ranges, best_items, n, &placed, best, *lower_bound + *lower_bound / 500, rounds);
  return n ? best : 0;
}
