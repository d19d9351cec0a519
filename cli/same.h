// same.h - what all ranks of a run that are processes must have in common before they train.
//
// The configuration is rank 0's: its bytes go to all, and what another rank has composed itself
// only serves to say that it was started with something else. Files and samples are not sent but
// compared, and the first that is not rank 0's is named. All ranks call these together; where one
// fails, all do, one of them with the reason and the others with GR_ERR_RANK.
#pragma once
#include "cli/job.h"
#include "runtime/comm/comm.h"

// Makes rank 0's command line and configuration those of all ranks. composed: how gr_job_compose
// ended on this rank; only rank 0's error is one. Takes the status over.
GR_MUST_USE gr_status gr_same_config(gr_job *, gr_comm *world, gr_status composed);
// Compares the files that the configuration names and, after gr_job_open, the samples: names,
// texts, lengths, and sizes of recordings. Reads no audio.
GR_MUST_USE gr_status gr_same_files(gr_job *, gr_comm *world);
GR_MUST_USE gr_status gr_same_data(gr_job *, gr_comm *world);
