// same_inputs.h - ensures that ranks that are processes train with the same configuration, files
// and data.
//
// The configuration is broadcast from rank 0; what another rank has composed itself only serves to
// warn that it was started with something else. Files and samples are not sent but compared, and
// the first difference is named. All functions are collective; if one rank fails, all do, one with
// the reason and the others with GR_ERR_RANK.
#pragma once
#include "job/job.h"
#include "runtime/comm/comm.h"

// Replaces the command line and configuration of all ranks by rank 0's. composed: the result of
// gr_job_compose on this rank, whose ownership is taken; only rank 0's error makes this fail.
GR_MUST_USE gr_status gr_same_config(gr_job *, gr_comm *world, gr_status composed);
// Compares the contents of the files that the configuration names. GR_ERR_LAUNCH names the first
// that differs.
GR_MUST_USE gr_status gr_same_files(gr_job *, gr_comm *world);
// Compares the samples, after gr_job_open: names, texts, lengths and sizes of recordings; reads no
// audio. GR_ERR_LAUNCH names the first that differs.
GR_MUST_USE gr_status gr_same_data(gr_job *, gr_comm *world);
// The hash of the samples that gr_same_data compares. Not collective.
uint64_t gr_job_data_hash(gr_job *);
