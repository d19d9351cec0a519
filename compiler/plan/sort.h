// sort.h - sorts many by a number.
#pragma once
#include "base/arena.h"

typedef struct gr_sort_key {
  size_t key;
  uint32_t id;
} gr_sort_key;

// The n keys, whose ids ascend, by key, and equal ones by id: in place, or in the arena.
gr_sort_key *gr_sort_keys(gr_arena *, gr_sort_key *, uint32_t n);
