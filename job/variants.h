// variants.h - plans of a job with other keys, which are compared with its plan and never run.
#pragma once
#include "job/job.h"

// A job with some overrides more, for a number of ranks.
typedef struct gr_variant {
  const char *const *more;  // n overrides
  int n, ranks;
  gr_job job;       // its draft is in spec.plan; what is made is in its arena
  gr_status error;  // why there is none
} gr_variant;

// Whether a job's plan has so few nodes that others are compiled to be compared with it.
bool gr_job_plans_again(const gr_job *);
// Plans drafts (request.h) of n variants at once, on the data that is open. The caller drops each
// error and destroys each arena.
void gr_job_plan_variants(const gr_job *, gr_variant *, int n);
// The same for one. What is made is in out->arena, which the caller destroys, also after an error.
GR_MUST_USE gr_status gr_job_plan_with(const gr_job *, const char *const *overrides, int n,
                                       int ranks, gr_job *out);
