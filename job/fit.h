// fit.h - plans a job within training.memory.
#pragma once
#include "job/job.h"

// gr_batch_choose and gr_job_plan; but where that plan needs more than training.memory on a rank,
// training.recompute and training.accumulate are set so that it fits, at the least predicted time,
// with FSDP's prefetches, and on GPUs training.offload and distributed.fsdp.offload_params; and
// job->fitted to a sentence about it. A key that the configuration gives is not changed, and
// micro-steps are not chosen for models with batch norm, whose statistics would be others. The
// choice depends on the configuration, the data and the number of ranks alone. GR_ERR_CONFIG if
// nothing fits, with what else would need less.
GR_MUST_USE gr_status gr_job_fit(gr_job *, int ranks);
// Searches the batches for most_bytes, unless they are chosen: for each bucket the largest whose
// programs need no more on a rank (of a global batch one that has all of it, so that the choice is
// the same for any `ranks`). GR_ERR_CONFIG where a bucket's smallest batch is too large.
GR_MUST_USE gr_status gr_batch_choose(gr_job *, int ranks);
