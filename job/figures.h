// figures.h - counts a job's plan (compiler/report/figures.h).
#pragma once
#include "compiler/report/figures.h"
#include "job/job.h"

// After gr_job_plan: with how often a pass through the job's loop runs each program. targets: as
// for gr_plan_count. In the job's arena.
const gr_plan_figures *gr_job_count(const gr_job *, const gr_target *targets, int n_targets);
