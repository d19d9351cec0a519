// sources.c - the kinds of data: data.source picks one of them by its name.
#include "runtime/data/source.h"

extern const gr_source_ops gr_source_speech, gr_source_table;

const gr_source_ops *const gr_data_sources[] = {&gr_source_speech, &gr_source_table, NULL};
