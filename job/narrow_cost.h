// narrow_cost.h - what mixed precision costs or saves on a CPU.
#pragma once
#include "job/job.h"

// Appends a line about a job that trains in mixed precision on CPUs, after gr_job_plan: the memory
// and about the time of the same job in fp32, which is compiled as well. By the plans and what the
// processor has, never by a clock. False, and nothing is appended: it computes in fp32, on GPUs, or
// does not train.
bool gr_job_put_narrow_cost(gr_text *, const gr_job *, int ranks);
