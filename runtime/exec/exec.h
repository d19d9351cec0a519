// exec.h - runs a plan's programs on one rank.
//
// Opening resolves everything: kernels, pointers, strides. A step is then a loop over an
// array; it allocates nothing, looks nothing up and never asks what an op is.
#pragma once
#include "compiler/plan/plan.h"
#include "ops/comm/comm.h"
#include "ops/kernels/cpu.h"

typedef struct gr_exec gr_exec;
typedef struct gr_exec_options {
  int threads;           // of this rank
  bool plain;            // reference kernels only, for tests
  gr_comm *const *comm;  // by mesh axis; may be NULL on a mesh of one
  int rank;              // in the mesh
  bool profile;          // keep time by op
} gr_exec_options;

GR_MUST_USE gr_status gr_exec_open(const gr_plan *, const gr_exec_options *, gr_exec **out);
void gr_exec_close(gr_exec *);  // NULL is fine

// Runs one program: "init", "train", "eval" of a bucket.
GR_MUST_USE gr_status gr_exec_run(gr_exec *, const gr_program *);

// Memory of an input or result of a program (NULL: there is none of that name), or a state's.
void *gr_exec_input(gr_exec *, const gr_program *, const char *name, gr_type *out_type);
const void *gr_exec_result(gr_exec *, const gr_program *, const char *name, gr_type *out_type);
void *gr_exec_state(gr_exec *, const gr_plan_state *);
size_t gr_exec_bytes(const gr_exec *);          // all memory the exec holds, as planned
size_t gr_exec_shared_bytes(const gr_exec *);   // of it, what other ranks can reach
void gr_exec_profile(FILE *, const gr_exec *);  // time by op, worst first
