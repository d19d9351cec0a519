// groups.h - reads training.groups and training.decay_biases_and_norms: weights whose update
// differs from that of the others (gr_param_group, compiler/pass.h).
#pragma once
#include "compiler/pass.h"
#include "compose/tree/conf.h"

// Sets groups and attr_1d, after the optimizer is read. lr: training.lr.
GR_MUST_USE gr_status gr_groups_read(gr_arena *, gr_conf *, double lr, gr_optimizer_settings *);
// A group that no weight is in has no effect, so it is an error.
GR_MUST_USE gr_status gr_groups_check(gr_arena *, const gr_optimizer_settings *, const gr_plan *);
// Prints a line for each group, and one for the other weights; nothing if all are updated alike.
void gr_groups_print(FILE *, const gr_optimizer_settings *, const gr_plan *);
// A weight's name, or a pattern of names, that is like a pattern without matches; or NULL.
const char *gr_weight_nearest(gr_arena *, const gr_plan *, const char *pattern);
