// data.h - what a job takes from data: from the data set, or from what data.expect declares.
#pragma once
#include "job/args.h"

// data.expect is about the data that files name: where arguments name others, it is not used, and
// a run does not keep it; whether that is so. Of a run's folder its data.json is expected. Called
// when the configuration is composed.
bool gr_job_settle_expect(gr_arena *, const gr_args *, gr_run_spec *);
// Whether the plan is made from data.expect, so that neither data nor weights need be there.
bool gr_job_is_expected(const gr_args *, const gr_run_spec *);
// Sets the contract of spec, and unless a plan alone is made of what is expected, its data set,
// which is compared with that.
GR_MUST_USE gr_status gr_job_open_data(gr_arena *, const gr_args *, gr_run_spec *);
// Sets what of the batch follows from the data: each bucket's, and the micro-steps of data without
// samples.
GR_MUST_USE gr_status gr_job_follow_data(gr_arena *, gr_run_spec *);
