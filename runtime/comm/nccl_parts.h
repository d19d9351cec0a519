// nccl_parts.h - declarations shared by nccl_open.c (opening, closing), nccl_run.c (collectives)
// and nccl_wait.c (waiting, errors).
#pragma once
#if GR_HAVE_NCCL
#include <nccl.h>
#include "ops/comm/comm.h"
#include "runtime/device/cuda.h"

#define GR_NCCL(name) __typeof__(name) *name;
typedef struct gr_nccl_library {
#include "runtime/comm/nccl.def"
} gr_nccl_library;
extern gr_nccl_library gr_nccl;  // loaded by the module's `load`; never unloaded

typedef struct gr_nccl_comm gr_nccl_comm;
struct gr_nccl_comm {
  gr_comm base;
  gr_comm *host;
  gr_device *device;
  const gr_cuda_module *cuda;
  gr_queue queue;  // of the device, onto which collectives are put
  ncclComm_t comm;
  double timeout_s, checked;  // checked: when the host's communicator was asked last
  bool ended;                 // aborted: nothing may be called any more
  gr_nccl_comm *next;         // of the device: it asks all while the host waits
};

// GR_ERR_LAUNCH with NCCL's texts for a result. what: the call that failed.
gr_status gr_nccl_failed(gr_nccl_comm *, ncclResult_t, const char *what);
#define GR_NCCL_TRY(c, call)                                 \
  do {                                                       \
    ncclResult_t result_ = gr_nccl.call;                     \
    if (result_ != ncclSuccess && result_ != ncclInProgress) \
      return gr_nccl_failed(c, result_, #call);              \
  } while (0)
// Waits, polling, until NCCL has done what it was asked to without blocking.
GR_MUST_USE gr_status gr_nccl_settle(gr_nccl_comm *, const char *what);
void gr_nccl_pause(double seconds);  // of this thread, between two questions
// Ends the communicator: kernels that wait for peers end. Does nothing when it has ended.
void gr_nccl_end(gr_nccl_comm *);
// Called by the device again and again while the host waits for it, with how long it has waited.
// arg: the first of its communicators; when one has failed, all are ended.
GR_MUST_USE gr_status gr_nccl_check_all(void *arg, double waited);
// As gr_comm_vtable.run.
GR_MUST_USE gr_status gr_nccl_run(gr_comm *, gr_collective, gr_dtype, int n, const gr_comm_piece *);
#endif
