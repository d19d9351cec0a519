// memory.h - compares the memory that a run needs with what is free, before any of it is allocated.
#pragma once
#include "job/job.h"

// Of `local` of the plan's ranks, which share a machine, after gr_job_plan. threads: they share one
// process. Fails with GR_ERR_LAUNCH if they need more than is free; with memory.check=warn that is
// a warning. The first rank of the machine compiles further plans, to say what needs less. GPUs are
// asked when they are opened. Called by all ranks of the machine before one of them allocates.
GR_MUST_USE gr_status gr_job_check_memory(const gr_job *, int local, bool threads, bool first);
// For `graphrun plan`: a line about all ranks on this machine, with the alternatives if they do not
// fit.
void gr_job_print_memory(FILE *, const gr_job *, int ranks);
