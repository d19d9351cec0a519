// identity.h - makes the identity of a run (runtime/train/identity.h).
#pragma once
#include "job/job.h"

// Of a configuration that is composed, resolved and checked: its part "config" alone.
const char *gr_identity_of_config(gr_arena *, gr_conf *);
// Of a job that is planned, into job->spec.identity. Reads files of the model, hooks and data: of
// large ones a part (docs/checkpoints.md).
void gr_job_identify(gr_job *);
