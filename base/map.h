// map.h - hash map from text to a number. Iteration is in insertion order, so that results never
// depend on hash values.
#pragma once
#include "base/arena.h"

typedef struct gr_map {
  gr_arena *arena;
  const char **keys;  // in order of insertion
  uint32_t *hashes;
  uint32_t *values;
  uint32_t n, cap;
  uint32_t *slots;   // 1 + index into keys, 0: empty
  uint32_t n_slots;  // a power of two
} gr_map;
gr_map gr_map_make(gr_arena *);  // empty; grows in the arena
// Whether the key is there; if so, its value is in *out, which may be NULL.
bool gr_map_find(const gr_map *, const char *key, uint32_t *out);
// Inserts or overwrites. The key is borrowed and must live as long as the map.
void gr_map_put(gr_map *, const char *key, uint32_t value);
// Inserts a key that is not there; one that is keeps its value.
void gr_map_add(gr_map *, const char *key, uint32_t value);
