// span_set.h - which of a fixed list of address ranges are in use, and which of those overlap a
// given one. Each call takes O(log n).
#pragma once
#include "base/arena.h"

typedef struct gr_span {
  size_t from, to;  // [from, to)
} gr_span;

typedef struct gr_span_set {
  const gr_span *spans;  // by id, borrowed
  uint32_t n;
  uint32_t *id_at, *rank_of;  // by start address, and back
  uint32_t n_leaves;          // a power of two
  size_t *end;                // a tree of maxima over `to` of the members, in order of address
} gr_span_set;

// Knows n spans and holds none. `spans` must stay as they are.
gr_span_set gr_span_set_make(gr_arena *, const gr_span *spans, uint32_t n);
void gr_span_set_add(gr_span_set *, uint32_t id);
void gr_span_set_remove(gr_span_set *, uint32_t id);  // may be absent

// The members that overlap `s`, in order of address: *cursor is 0 at first, and the id is in *id
// for as long as the result is true.
bool gr_span_set_next(const gr_span_set *, gr_span s, uint32_t *cursor, uint32_t *id);
