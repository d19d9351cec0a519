// programs.h - which programs of a model are compiled, and how often.
#pragma once
#include "compiler/request.h"

// A program to compile: `program` is NULL for init and report.
typedef struct gr_program_request {
  gr_purpose purpose;
  const gr_model_program *program;
  gr_step_phase phase;
  unsigned frozen, freezable;  // as in gr_program
  const gr_bucket *bucket;
  const char *bucket_name;  // "": it takes no batch, or is one for all buckets
  gr_minibatches minibatches;
  const gr_graph *model;  // that gr_programs_look has built; NULL: it is to be built
} gr_program_request;

// Builds the model's graph of a program, whose bucket must be set.
GR_MUST_USE gr_status gr_program_model(gr_arena *, const gr_plan_request *,
                                       const gr_program_request *, gr_graph **out);
// Reads what the file says of train and eval, if the request does not say which programs it is for.
GR_MUST_USE gr_status gr_programs_read(gr_arena *, gr_plan_request *);
// What a program does with averages of weights. If that is to read or set them, *o says of which
// weights: those that any program trains.
gr_ema_use gr_programs_ema(gr_arena *, const gr_plan_request *, const gr_program_request *,
                           gr_options *o);
// The model's graphs that are read before any program is compiled.
typedef struct gr_program_models {
  gr_graph *init;    // of initial values
  gr_scopes scopes;  // the model's parts
  struct gr_program_facts *facts;
} gr_program_models;
// Builds the graph of initial values, and of each program that of the first bucket, in the arena,
// on the request's threads.
GR_MUST_USE gr_status gr_programs_look(gr_arena *, const gr_plan_request *, gr_program_models *out);
// How many programs gr_programs_list lists at most.
int gr_programs_most(const gr_plan_request *);
// Lists what is compiled, in the order of `graphrun plan`: *n is 0 before, and out has room for
// gr_programs_most. GR_ERR_CONFIG, with every error, where the file does not suit the request.
GR_MUST_USE gr_status gr_programs_list(const gr_plan_request *, const gr_program_models *,
                                       gr_program_request *out, uint32_t *n);
