// adjust.h - values that may change while a run goes on: hyper-parameters of the optimizer, the
// clip norm, factors on the learning rate, and the decay of averages of weights. With
// training.adjustable each is a scalar input of the update, which the run writes before every step;
// otherwise it is a constant of the plan.
#pragma once
#include "base/adjustable.h"
#include "base/status.h"
#include "compiler/pass.h"

// Besides them, whether the weights of a pattern of training.freezable are frozen, 0 or 1, which is
// no input: the run chooses the program by it.
//
// The values that the options make adjustable, at most GR_MAX_ADJUSTABLE, in the arena; *n of them.
// The same options give the same list. GR_ERR_CONFIG: there are more.
GR_MUST_USE gr_status gr_list_adjustable(gr_arena *, const gr_optimizer_settings *,
                                         gr_adjustable **out, int *n);
