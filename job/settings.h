// settings.h - reads a configuration into the settings of all parts (runtime/train/settings.h).
#pragma once
#include <stddef.h>
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Tells the schema the valid values of training.optimizer and of `device`. Called once, before any
// configuration is checked.
void gr_settings_register(void);
// Reads the fields of all rows of schema.def, and derives the rest but for what a device decides
// (gr_precision_derive). ranks: their number, on which the batch, the learning rate, the threads
// and the sharding depend; 0: not known yet, and they are those of one rank.
GR_MUST_USE gr_status gr_settings_read(gr_arena *, gr_conf *, int ranks, gr_settings *);
// The bytes before a row's field in gr_settings. The compiler's parts are in its options.
#define GR_FIELD_OFFSET(part, field) offsetof(gr_settings, GR_FIELD_PATH(part) field)
#define GR_FIELD_PATH(part) GR_SECOND_OF(GR_IN_OPTIONS_##part, part., )
#define GR_IN_OPTIONS_batch ~, options.batch.
#define GR_IN_OPTIONS_optimizer ~, options.optimizer.
#define GR_IN_OPTIONS_precision ~, options.precision.
#define GR_IN_OPTIONS_sharding ~, options.sharding.
#define GR_IN_OPTIONS_memory ~, options.memory.
