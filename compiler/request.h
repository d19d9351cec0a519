// request.h - what a plan is made from.
#pragma once
#include "compiler/model/model.h"
#include "compiler/plan/plan.h"

typedef struct gr_bucket {
  const char *name;    // "t300"
  const gr_dim *dims;  // "t", "u", ... of this bucket
  int n_dims;
  const gr_batch_tensor *batch;  // of this bucket; NULL: see gr_model_request
  int n_batch;
} gr_bucket;

typedef struct gr_plan_request {
  gr_model_request model;  // dims: those that all buckets share ("n", "c"); purpose is ignored
  gr_options options;
  const gr_bucket *buckets;  // at least one; its name may be ""
  int n_buckets;
  // The programs, besides "init", in the order of the plan; NULL: train and eval. Of these two,
  // only those that are asked for are compiled.
  const gr_model_program *programs;
  int n_programs;
  bool train, eval;
  int threads;  // to compile on; 0: one for each processor
  // Its figures are compared with another plan's: it is not proved, nor are its nodes verified, and
  // it has no hash.
  bool draft;
} gr_plan_request;
