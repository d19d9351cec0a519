// other_names.h - the configuration of further names under which a run writes values.
#pragma once
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Reads logging.tags and logging.results into the settings. GR_ERR_CONFIG at what is wrong.
GR_MUST_USE gr_status gr_other_names_read(gr_arena *, gr_conf *, gr_outputs_settings *);
