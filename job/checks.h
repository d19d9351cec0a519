// checks.h - checks of a configuration that need its plan: names of metrics and of weights.
#pragma once
#include "compiler/pass.h"
#include "runtime/train/spec.h"

// checkpoint.metric is one that a program of the plan computes.
GR_MUST_USE gr_status gr_check_metric(gr_arena *, const gr_run_spec *);
// Every pattern of model.freeze matches a weight; of training.freezable one that is trained, and no
// weight is matched by two.
GR_MUST_USE gr_status gr_check_freeze(gr_arena *, const gr_run_spec *);
GR_MUST_USE gr_status gr_check_freezable(gr_arena *, const gr_run_spec *);
