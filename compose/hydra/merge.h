// merge.h - how one configuration goes over another, and what an override does to it.
#pragma once
#include "compose/interp/interp.h"
#include "compose/override/override.h"

// Merges a map over another: maps join, lists and scalars replace, ??? never does. Values of
// the source are moved, not copied. The file's name is for errors.
GR_MUST_USE gr_status gr_merge(gr_resolver *, gr_conf *to, gr_conf *from);

// Puts a value at a package, "a.b": maps are made on the way. An empty package gives the value.
gr_conf *gr_merge_wrap(gr_arena *, const char *package, gr_conf *value);

// Applies key=value, +key=value, ++key=value or ~key to a composed tree. Keys that the resolver's
// `known` takes need no '+'.
GR_MUST_USE gr_status gr_merge_override(gr_resolver *, gr_conf *root, const gr_override *);
