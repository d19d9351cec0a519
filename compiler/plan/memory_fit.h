// memory_fit.h - packing of lifetimes into as little memory as can be found.
#pragma once
#include "base/arena.h"

typedef struct gr_live_range {
  uint32_t from, to;  // the first and last node at which it is there
  size_t bytes;       // a multiple of the alignment
  size_t at;          // where it goes
} gr_live_range;

// Places n lives so that no two that are there at the same time overlap; what that takes.
// Tries several orders and keeps the one that takes least; the first of equals, so that all
// ranks agree. *lower_bound: the most that is there at any one node; *peak: at which.
size_t gr_live_range_pack(gr_arena *, gr_live_range *lives, uint32_t n, uint32_t n_nodes,
                          size_t *lower_bound, uint32_t *peak);
