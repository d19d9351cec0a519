// rename.h - new names by patterns.
#pragma once
#include "base/arena.h"
#include "base/status.h"

// A pattern of names. In the new name each `*` stands for what that of the pattern matched.
typedef struct gr_pattern {
  const char *text;
  const char *to;  // of a rename; NULL: tensors of that name are left out
  // n_parts > 0: the tensor is so many of equal size along its first axis, with these new names.
  const char *const *parts;
  int n_parts;
  gr_loc loc;
} gr_pattern;

// The new name of `name` if the pattern matches it, else NULL. A `*` of the pattern matches any
// text, as little as possible; the k-th `*` of `to` stands for what the k-th of the pattern
// matches. `to` has as many as the pattern. In the arena.
const char *gr_renamed(gr_arena *, const char *pattern, const char *to, const char *name);
// The first of n patterns that matches the name; NULL: none does.
const gr_pattern *gr_pattern_of(gr_arena *, const gr_pattern *, int n, const char *name);
