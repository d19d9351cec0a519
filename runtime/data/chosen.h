// chosen.h - which source data.source names.
#pragma once
#include "runtime/data/source.h"

// That source, or those of a list joined (join.h), in the arena. GR_ERR_CONFIG: there is none of
// that name, or they cannot be joined.
GR_MUST_USE gr_status gr_source_read(gr_arena *, gr_conf *data, const gr_source_ops **out);
