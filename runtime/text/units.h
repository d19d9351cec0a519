// units.h - texts as sequences of words or characters, and how much of them is the same.
#pragma once
#include "base/text.h"

// Equal units have equal numbers.
typedef struct gr_units {
  int32_t *id;
  int64_t n;
} gr_units;

// The words of two texts, of which white space separates words; in the arena.
void gr_units_words(gr_arena *, const char *first, const char *second, gr_units out[2]);
// The characters of a text, by their code points, in the arena; without white space, unless
// `spaces`. A byte that is not UTF-8 is one.
gr_units gr_units_characters(gr_arena *, const char *text, bool spaces);
// Insertions, deletions and replacements that make one of the other (Wagner and Fischer, 1974).
int64_t gr_units_distance(gr_arena *, const gr_units *, const gr_units *);

enum { GR_MAX_ORDER = 6 };
// The sequences of `order` units that a text has.
static inline int64_t gr_units_grams(const gr_units *u, int order) {
  return u->n < order ? 0 : u->n - order + 1;
}
// How many of them two texts have in common: each as often as both have it.
int64_t gr_units_common(gr_arena *, const gr_units *, const gr_units *, int order);
