// precision.h - derives what the compiler reads of mixed precision (gr_precision_settings).
#pragma once
#include "compiler/pass.h"
#include "compose/tree/conf.h"

// Reads training.precision_rules.
GR_MUST_USE gr_status gr_precision_read(gr_arena *, gr_conf *, gr_precision_settings *);
// Derives the dtypes, once the device is known, and where anything is f16 the loss scale.
void gr_precision_derive(gr_arena *, gr_conf *, bool gpu, gr_precision_settings *);
// Whether anything is computed in fp16; known without the device.
bool gr_precision_is_fp16(const gr_precision_settings *);
// Fails for rules that match nothing in any program.
GR_MUST_USE gr_status gr_precision_check(gr_arena *, const gr_precision_settings *,
                                         const gr_plan *);
