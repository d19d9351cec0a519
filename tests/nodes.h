// nodes.h - what tests of random graphs draw.
#pragma once
#include "ops/ops.h"

// A number below n.
static inline uint32_t below(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 16) % n;
}

// One of the first NODES_SIMPLE kinds of nodes: elementwise, on one or two values of one type.
enum { NODES_SIMPLE = 4 };
// Emits a node of that kind on x, and on y where it takes two.
static inline gr_val nodes_simple(gr_builder *b, uint32_t kind, gr_val x, gr_val y) {
  switch (kind) {
    case 0:
      return gr_add(b, x, y);
    case 1:
      return gr_mul(b, x, y);
    case 2:
      return gr_tanh(b, x);
    default:
      return gr_scale(b, x, 0.5);
  }
}
