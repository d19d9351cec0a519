// merge.h - merges configurations, and applies overrides.
#pragma once
#include "compose/interp/interp.h"
#include "compose/override/override.h"

// Merges the map `source` into `target`: maps are merged recursively, lists and scalars replace,
// ??? never replaces. Values of `source` are moved, not copied.
GR_MUST_USE gr_status gr_merge(gr_resolver *, gr_conf *target, gr_conf *source);

// Wraps a value in maps for the package "a.b". An empty package gives the value itself.
gr_conf *gr_merge_wrap(gr_arena *, const char *package, gr_conf *value);

// Applies key=value, +key=value, ++key=value or ~key to a composed tree. Keys that the resolver's
// `known` accepts need no '+'.
GR_MUST_USE gr_status gr_merge_override(gr_resolver *, gr_conf *root, const gr_override *);
