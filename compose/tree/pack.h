// pack.h - a resolved tree as bytes, with the place of every value: how rank 0's configuration
// reaches the other ranks, so that their errors name the same lines.
#pragma once
#include "compose/tree/conf.h"

// Appends the tree. What composition alone needs (histories, interpolations) is left out.
void gr_conf_pack(gr_text *, const gr_conf *);
// Reads what gr_conf_pack wrote, all of it, into the arena. Fails with GR_ERR_LAUNCH where the
// bytes are not such a tree.
GR_MUST_USE gr_status gr_conf_unpack(gr_arena *, const char *bytes, size_t n, gr_conf **out);

// The first value, in the order of `b`, that is not the same in both trees; places do not count,
// nor what the clock gave (${now:...}). False: there is none. Where a tree lacks it, its own is
// NULL.
bool gr_conf_differs(const gr_conf *a, const gr_conf *b, const gr_conf **in_a,
                     const gr_conf **in_b);
