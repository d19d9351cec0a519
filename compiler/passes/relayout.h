// relayout.h - from one layout to another, by collectives. Of the shard pass.
#pragma once
#include "compiler/pass.h"

// gr_relayout, as part of a group of collectives (ops/comm/collective.h); 0: of none.
gr_val gr_relayout_as(gr_builder *, gr_val, gr_layout to, int64_t group);
