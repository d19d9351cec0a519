// sources.c - the table of data sources, by name.
#include "runtime/data/source.h"

const gr_source_ops *const gr_data_sources[] = {
#define GR_SOURCE(name, doc) &gr_source_##name,
#include "runtime/data/sources.def"
#undef GR_SOURCE
    NULL};
