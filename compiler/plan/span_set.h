// span_set.h - a set of address ranges, all from a list that is fixed when the set is made, and the
// members that overlap a given range. For the proof of memory, where a range is a live value's.
// Each call takes O(log n).
#pragma once
#include "base/arena.h"

typedef struct gr_span {
  size_t begin, end;  // [begin, end)
} gr_span;

typedef struct gr_span_set {
  const gr_span *spans;  // by id, borrowed
  uint32_t n;
  uint32_t *id_at, *rank_of;  // by start address, and back
  uint32_t n_leaves;          // a power of two
  size_t *end;                // a tree of maxima over `end` of the members, in order of address
} gr_span_set;

// An empty set that may hold any of n spans. `spans` is borrowed and must not change.
gr_span_set gr_span_set_make(gr_arena *, const gr_span *spans, uint32_t n);
// Adds the span of that id, which is below n; an empty one overlaps nothing and is left out.
void gr_span_set_add(gr_span_set *, uint32_t id);
void gr_span_set_remove(gr_span_set *, uint32_t id);  // may be absent

// Iterates over the members that overlap `s`, in order of address: sets *id and returns true, or
// returns false after the last. *cursor is 0 before the first call.
bool gr_span_set_next(const gr_span_set *, gr_span s, uint32_t *cursor, uint32_t *id);
