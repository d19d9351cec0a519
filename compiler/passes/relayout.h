// relayout.h - converts a value from one layout to another; part of the shard pass.
#pragma once
#include "compiler/pass.h"

// gr_relayout (pass.h), with the collectives in a group (ops/comm/collective.h); 0: no group.
gr_val gr_relayout_as(gr_builder *, gr_val, gr_layout to, int64_t group);
