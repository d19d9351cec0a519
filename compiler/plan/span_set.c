// span_set.c - see span_set.h. A heap-shaped tree over the spans in order of address stores the
// largest end of each subtree; an absent span ends at 0.
#include "compiler/plan/span_set.h"
#include <assert.h>
#include "compiler/plan/sort.h"

gr_span_set gr_span_set_make(gr_arena *arena, const gr_span *spans, uint32_t n) {
  assert(spans || !n);
  gr_span_set s = {.spans = spans, .n = n, .n_leaves = 1};
  gr_sort_key *keys = GR_NEW(arena, gr_sort_key, n + 1);
  while (s.n_leaves < n) s.n_leaves *= 2;
  s.id_at = GR_NEW(arena, uint32_t, n + 1);
  s.rank_of = GR_NEW(arena, uint32_t, n + 1);
  s.end = GR_NEW(arena, size_t, 2 * s.n_leaves);
  for (uint32_t i = 0; i < n; i++) keys[i] = (gr_sort_key){spans[i].begin, i};
  keys = gr_sort_keys(arena, keys, n);
  for (uint32_t i = 0; i < n; i++) s.id_at[i] = keys[i].id, s.rank_of[keys[i].id] = i;
  return s;
}

static void put(gr_span_set *s, uint32_t id, size_t end) {
  uint32_t slot = s->n_leaves + s->rank_of[id];
  s->end[slot] = end;
  while (slot /= 2) {
    size_t l = s->end[2 * slot], r = s->end[2 * slot + 1];
    s->end[slot] = l > r ? l : r;
  }
}

void gr_span_set_add(gr_span_set *s, uint32_t id) {
  assert(id < s->n);
  if (s->spans[id].begin < s->spans[id].end) put(s, id, s->spans[id].end);
}
void gr_span_set_remove(gr_span_set *s, uint32_t id) {
  assert(id < s->n);
  put(s, id, 0);
}

// The first index from `first` on whose span ends after `begin`, or n_leaves.
static uint32_t first_ending_after(const gr_span_set *s, uint32_t first, size_t begin) {
  uint32_t slot = s->n_leaves + first;
  while (s->end[slot] <= begin) {
    while (slot & 1) slot /= 2;  // leave right children
    if (!slot) return s->n_leaves;
    slot++;
  }
  while (slot < s->n_leaves) slot = 2 * slot + (s->end[2 * slot] <= begin);
  return slot - s->n_leaves;
}

bool gr_span_set_next(const gr_span_set *s, gr_span x, uint32_t *cursor, uint32_t *id) {
  assert(x.begin <= x.end);
  if (x.begin >= x.end || *cursor >= s->n) return false;
  uint32_t rank = first_ending_after(s, *cursor, x.begin);
  if (rank >= s->n || s->spans[s->id_at[rank]].begin >= x.end) return false;
  *cursor = rank + 1;
  *id = s->id_at[rank];
  return true;
}
