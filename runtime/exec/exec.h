// exec.h - runs a plan's programs on one rank.
//
// Opening resolves everything: kernels, pointers, strides. A step is then a loop over an
// array; it allocates nothing, looks nothing up and never asks what an op is.
#pragma once
#include "compiler/plan/plan.h"
#include "ops/comm/comm.h"
#include "runtime/device/device.h"

typedef struct gr_exec gr_exec;
typedef struct gr_exec_options {
  const gr_device_ops *device;  // NULL: the CPU
  int threads;                  // of this rank
  bool plain;                   // reference kernels only, for tests
  gr_comm *const *comm;         // by mesh axis; may be NULL on a mesh of one
  int rank;                     // in the mesh
  bool profile;                 // keep time by op
} gr_exec_options;

// Opens a device, takes the memory of the plan from it, and a kernel for each call.
GR_MUST_USE gr_status gr_exec_open(const gr_plan *, const gr_exec_options *, gr_exec **out);
void gr_exec_close(gr_exec *);  // NULL is fine

// Runs one program: "init", "train", "eval" of a bucket.
GR_MUST_USE gr_status gr_exec_run(gr_exec *, const gr_program *);

// ---- Inputs, results and states ---------------------------------------------------------------
// A tensor in the device's memory that the host writes or reads between runs. It is found once,
// when a run is opened.
typedef struct gr_exec_tensor {
  void *at;      // an address of the device; NULL: there is none of that name
  gr_type type;  // of this rank's part
  size_t bytes;
} gr_exec_tensor;
gr_exec_tensor gr_exec_input(const gr_exec *, const gr_program *, const char *name);
gr_exec_tensor gr_exec_result(const gr_exec *, const gr_program *, const char *name);
gr_exec_tensor gr_exec_state(const gr_exec *, const gr_plan_state *);

// Both put a transfer in line, after what has run and before what runs next. The host's memory
// must stay as it is, and what is read is there, from gr_exec_wait on.
GR_MUST_USE gr_status gr_exec_write(gr_exec *, const gr_exec_tensor *, const void *from);
GR_MUST_USE gr_status gr_exec_read(gr_exec *, const gr_exec_tensor *, void *to);
GR_MUST_USE gr_status gr_exec_wait(gr_exec *);

// For large tensors, without a copy where the host reaches the device's memory. `staging` is host
// memory of gr_exec_staging bytes, which are none there.
size_t gr_exec_staging(const gr_exec *, const gr_exec_tensor *);
// To read: the tensor itself, or a copy in `staging`. Valid until the next run.
GR_MUST_USE gr_status gr_exec_view(gr_exec *, const gr_exec_tensor *, void *staging,
                                   const void **out);
// To write: fill what target gives, then store it.
void *gr_exec_target(const gr_exec *, const gr_exec_tensor *, void *staging);
GR_MUST_USE gr_status gr_exec_store(gr_exec *, const gr_exec_tensor *, const void *from);

const gr_device *gr_exec_device(const gr_exec *);  // what the programs run on
size_t gr_exec_bytes(const gr_exec *);             // all memory the exec holds, as planned
size_t gr_exec_shared_bytes(const gr_exec *);      // of it, what other ranks can reach
void gr_exec_profile(FILE *, const gr_exec *);     // time by op, worst first
