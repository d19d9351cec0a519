// precision.h - the configuration of mixed precision.
#pragma once
#include "compiler/pass.h"
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Reads training.precision_rules into the settings.
GR_MUST_USE gr_status gr_precision_read(gr_arena *, gr_conf *, gr_settings *);
// What training.mixed_precision asks for, if training.precision is not given: bf16 on GPUs.
void gr_precision_of_device(gr_conf *, bool gpu, gr_settings *);
// Sets the compiler's options of precision and, where anything is f16, of the loss scale.
void gr_precision_options(gr_arena *, const gr_settings *, gr_options *);
// Fails for rules that match nothing in any program.
GR_MUST_USE gr_status gr_precision_check(gr_arena *, const gr_settings *, const gr_plan *);
