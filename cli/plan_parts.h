// plan_parts.h - the parts of `graphrun plan` beside the report of one plan.
#pragma once
#include "job/figures.h"

typedef struct gr_plan_flags {
  const char *dot, *svg, *expand, *write, *diff;
  const char *ranks, *device, *strategy, *cluster;
} gr_plan_flags;

// Whether the flags ask for a table of several plans; n_ranks: numbers that --ranks has.
bool gr_plan_is_table(const gr_plan_flags *, int n_ranks);
// Prints it, as text or JSON, or draws it (--svg). ranks: those of --ranks, which ascend; none: the
// configuration's.
GR_MUST_USE gr_status gr_plan_table(gr_job *, const gr_plan_flags *, const int *ranks, int n_ranks);
// Prints what differs between a plan, --diff, and that of the operand: plan files, runs or
// configurations, to the second of which overrides belong. GR_ERR_DIFFERENT: something does.
GR_MUST_USE gr_status gr_plan_compare(gr_arena *, const gr_args *, const char *first);
