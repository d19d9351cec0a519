// checks.h - checks of a configuration that need its plan: names of metrics and of weights.
#pragma once
#include "compiler/pass.h"
#include "job/settings.h"
#include "runtime/train/spec.h"

// GR_ERR_CONFIG for patterns of weights without effect: of distributed.layout and model.freeze, and
// of a run that trains also of training.freezable, .groups and .precision_rules; for a
// checkpoint.metric that no program computes; and for training.text_metrics without texts.
GR_MUST_USE gr_status gr_check_plan(gr_arena *, const gr_run_spec *);
// GR_ERR_CONFIG for a checkpoint.metric that no program of a model's file states, before there is a
// plan: it may still be one of a program that the run has not.
GR_MUST_USE gr_status gr_check_metric_named(gr_arena *, gr_conf *conf, gr_conf *graph,
                                            const gr_settings *);
