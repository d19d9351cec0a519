// memory_fit.h - packs live ranges into little memory. A live range is a rectangle: nodes on one
// axis, bytes on the other. Its height is given and its offset is to be found, so that no two
// rectangles overlap ("dynamic storage allocation", NP-hard: Garey and Johnson, problem SR2).
#pragma once
#include "base/arena.h"

typedef struct gr_live_range {
  uint32_t first, last;  // the first and last node at which the value is live
  size_t bytes;          // a multiple of the alignment
  size_t offset;         // its offset: the result
} gr_live_range;

// Sets the offset of each of n live ranges so that no two that are live at the same node overlap,
// and returns the number of bytes that this takes. Several orders are tried; the best is kept, the
// first of equals, so that all ranks get the same offsets. *lower_bound: the bytes that are live at
// the worst node, which no assignment can be below; *peak: that node.
size_t gr_live_range_pack(gr_arena *, gr_live_range *ranges, uint32_t n, uint32_t n_nodes,
                          size_t *lower_bound, uint32_t *peak);
