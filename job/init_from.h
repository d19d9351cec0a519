// init_from.h - the configuration of model.init_from.
#pragma once
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Reads the entries, or the one of a path, into the settings. What patterns match is checked when
// the weights are loaded.
GR_MUST_USE gr_status gr_init_from_read(gr_arena *, gr_conf *, gr_model_settings *);
