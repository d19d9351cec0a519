// memory_fit.c - each life, in some order, in the lowest gap that is free for all of it. Which
// order is best depends on the graph (it is a bin packing problem, NP-hard), so several are
// tried: long lives packed first leave few holes, big ones first leave few large ones. Then what
// sticks out of the best is tried first, a few times.
#include "compiler/memory_fit.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 40 };

typedef struct item {
  const gr_life *life;
  uint32_t index;
  size_t at;
} item;

static size_t length(const gr_life *l) { return (size_t)(l->to - l->from) + 1; }

// Larger keys first; of equals the first in the list, so that the order is the same everywhere.
static int by_key(size_t x, size_t y, const item *a, const item *b) {
  if (x != y) return x < y ? 1 : -1;
  return a->index < b->index ? -1 : 1;
}
static int by_bytes(const void *a, const void *b) {
  const item *x = a, *y = b;
  return by_key(x->life->bytes, y->life->bytes, x, y);
}
static int by_area(const void *a, const void *b) {
  const item *x = a, *y = b;
  return by_key(x->life->bytes * length(x->life), y->life->bytes * length(y->life), x, y);
}
static int by_length(const void *a, const void *b) {
  const item *x = a, *y = b;
  return by_key(length(x->life), length(y->life), x, y);
}
static int by_start(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->life->from != y->life->from) return x->life->from < y->life->from ? -1 : 1;
  return by_key(x->life->bytes, y->life->bytes, x, y);
}

static int (*const orders[])(const void *, const void *) = {by_bytes, by_area, by_length, by_start};

static bool together(const gr_life *a, const gr_life *b) {
  return a->from <= b->to && b->from <= a->to;
}

// Puts items, in their order, each into the lowest gap; `placed` is kept in order of place.
static size_t place(item *items, uint32_t n, item **placed) {
  size_t top = 0;
  for (uint32_t i = 0; i < n; i++) {
    size_t at = 0, bytes = items[i].life->bytes;
    for (uint32_t j = 0; j < i && placed[j]->at < at + bytes; j++) {
      size_t end = placed[j]->at + placed[j]->life->bytes;
      if (end > at && together(placed[j]->life, items[i].life)) at = end;
    }
    items[i].at = at;
    uint32_t k = i;
    for (; k > 0 && placed[k - 1]->at > at; k--) placed[k] = placed[k - 1];
    placed[k] = &items[i];
    if (at + bytes > top) top = at + bytes;
  }
  return top;
}

static size_t most_at_once(gr_arena *arena, const gr_life *lives, uint32_t n, uint32_t n_nodes,
                           uint32_t *peak) {
  size_t *more = GR_NEW(arena, size_t, n_nodes + 2), *less = GR_NEW(arena, size_t, n_nodes + 2);
  for (uint32_t i = 0; i < n; i++) {
    more[lives[i].from] += lives[i].bytes;
    less[lives[i].to + 1] += lives[i].bytes;
  }
  size_t now = 0, most = 0;
  *peak = 0;
  for (uint32_t i = 0; i <= n_nodes; i++) {
    now = now + more[i] - less[i];
    if (now > most) most = now, *peak = i;
  }
  return most;
}

static void keep_places(gr_life *lives, const item *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) lives[items[i].index].at = items[i].at;
}

// The item that sticks out furthest goes first in the next round.
static void promote(item *items, uint32_t n) {
  uint32_t worst = 0;
  for (uint32_t i = 1; i < n; i++)
    if (items[i].at + items[i].life->bytes > items[worst].at + items[worst].life->bytes) worst = i;
  item first = items[worst];
  memmove(items + 1, items, sizeof *items * worst);
  items[0] = first;
}

// From the best order so far: most of what is left to gain is in a few misplaced items.
static size_t improve(gr_life *lives, item *items, uint32_t n, item **placed, size_t best,
                      size_t enough) {
  for (int round = 0; round < ROUNDS && best > enough; round++) {
    promote(items, n);
    size_t top = place(items, n, placed);
    if (top >= best) continue;
    best = top;
    keep_places(lives, items, n);
  }
  return best;
}

size_t gr_life_fit(gr_arena *arena, gr_life *lives, uint32_t n, uint32_t n_nodes,
                   size_t *lower_bound, uint32_t *peak) {
  item *items = GR_NEW(arena, item, n + 1), **placed = GR_NEW(arena, item *, n + 1);
  item *good = GR_NEW(arena, item, n + 1);
  size_t best = SIZE_MAX;
  *lower_bound = most_at_once(arena, lives, n, n_nodes, peak);
  for (size_t o = 0; o < sizeof orders / sizeof *orders && best > *lower_bound; o++) {
    for (uint32_t i = 0; i < n; i++) items[i] = (item){.life = &lives[i], .index = i};
    qsort(items, n, sizeof *items, orders[o]);
    size_t top = place(items, n, placed);
    if (top >= best) continue;
    best = top;
    keep_places(lives, items, n);
    memcpy(good, items, sizeof *items * n);
  }
  if (n) best = improve(lives, good, n, placed, best, *lower_bound + *lower_bound / 500);
  return n ? best : 0;
}
