// grow.h - arrays in an arena that items are appended to.
#pragma once
#include <string.h>
#include "base/arena.h"

// Makes room for another item of an array that has n: where its room, `cap`, is full, `items`
// moves to one of twice as much. What it leaves behind goes with the arena.
#define GR_GROW(arena, items, n, cap)                                                 \
  do {                                                                                \
    if ((n) < (cap)) break;                                                           \
    void *grown_ = gr_arena_alloc(arena, sizeof *(items) * (2 * (size_t)(cap) + 16)); \
    if (n) memcpy(grown_, items, sizeof *(items) * (size_t)(n));                      \
    (items) = grown_, (cap) = 2 * (cap) + 16;                                         \
  } while (0)
