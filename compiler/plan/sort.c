// sort.c - see sort.h.
#include "compiler/plan/sort.h"
#include <assert.h>
#include <stdlib.h>

static int by_key(const void *a, const void *b) {
  const gr_sort_key *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, MANY = 512 };

// Digit by digit from the last, where they are many.
gr_sort_key *gr_sort_keys(gr_arena *arena, gr_sort_key *keys, uint32_t n) {
  assert(keys || !n);
  if (n < MANY) {
    if (n) qsort(keys, n, sizeof *keys, by_key);
    return keys;
  }
  gr_sort_key *source = keys, *target = GR_TAKE(arena, gr_sort_key, n);
  size_t all = 0;
  for (uint32_t i = 0; i < n; i++) all |= keys[i].key;
  for (unsigned shift = 0; shift < 8 * sizeof all && all >> shift; shift += DIGIT_BITS) {
    uint32_t start[DIGITS + 1] = {0};
    for (uint32_t i = 0; i < n; i++) start[(source[i].key >> shift) % DIGITS + 1]++;
    for (int d = 1; d < DIGITS; d++) start[d] += start[d - 1];
    for (uint32_t i = 0; i < n; i++) target[start[(source[i].key >> shift) % DIGITS]++] = source[i];
    gr_sort_key *sorted = target;
    target = source, source = sorted;
  }
  return source;
}
