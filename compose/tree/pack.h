// pack.h - serialises a resolved tree with the location of every value. Rank 0 sends its
// configuration to the other ranks in this form, so that their errors name the same lines.
#pragma once
#include "compose/tree/conf.h"

// Appends the tree, without what only composition needs (histories, interpolations).
void gr_conf_pack(gr_text *, const gr_conf *);
// Reads exactly the n bytes that gr_conf_pack wrote into the arena. GR_ERR_LAUNCH when they are not
// such a tree.
GR_MUST_USE gr_status gr_conf_unpack(gr_arena *, const char *bytes, size_t n, gr_conf **out);

// Finds the first value, in the order of `b`, that differs between the trees, ignoring locations
// and values of ${now:...}. False: none. The value is NULL for the tree that does not have it.
bool gr_conf_differs(const gr_conf *a, const gr_conf *b, const gr_conf **in_a,
                     const gr_conf **in_b);
// Equal for trees that do not differ, in one version and byte order: it is compared by processes of
// one job and never stored. Of a value from the environment it takes the interpolation.
uint64_t gr_conf_hash(const gr_conf *);
