// names.h - looks up names that come in the order in which a map has them, or nearly: those of
// states, which all programs of a plan have in one order.
#pragma once
#include <string.h>
#include "base/map.h"

// gr_map_find of a map in which each key's value is its index. *next is where the name is expected,
// 0 at first, and becomes the place behind it.
static inline bool gr_find_next(const gr_map *m, const char *name, uint32_t *next, uint32_t *out) {
  bool expected = *next < m->n && !strcmp(m->keys[*next], name);
  if (expected) *out = *next;
  if (!expected && !gr_map_find(m, name, out)) return false;
  *next = *out + 1;
  return true;
}
