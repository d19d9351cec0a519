// map.h - the one hash map: text to a number. Iteration is in order of insertion, so that no
// hash ever reaches a result.
#pragma once
#include "base/arena.h"

typedef struct gr_map {
  gr_arena *arena;
  const char **keys;  // in order of insertion
  uint32_t *hashes;
  uint32_t *values;
  uint32_t n, cap;
  uint32_t *slots;  // 1 + index, 0 empty; a power of two of them
  uint32_t n_slots;
} gr_map;
gr_map gr_map_make(gr_arena *);
bool gr_map_find(const gr_map *, const char *key, uint32_t *out);  // out may be NULL
void gr_map_put(gr_map *, const char *key, uint32_t value);        // the key is borrowed
