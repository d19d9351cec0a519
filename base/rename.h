// rename.h - new names by patterns.
#pragma once
#include "base/arena.h"

// The new name of `name` if the pattern matches it, else NULL. A `*` of the pattern matches any
// text, as little as possible; the k-th `*` of `to` stands for what the k-th of the pattern
// matches. `to` has as many as the pattern. In the arena.
const char *gr_renamed(gr_arena *, const char *pattern, const char *to, const char *name);
