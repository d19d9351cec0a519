// nccl.h - collectives of values in the memory of GPUs. The communicator itself is in the module
// graphrun_nccl.so, which is loaded when it is opened first; NCCL (libnccl.so.2) is loaded by that.
//
// It is made from a communicator of the same ranks on the host, which carries NCCL's id, the
// barriers, and the news that a rank has failed. Collectives are put onto a queue of the device and
// can be captured. Their errors show where the host waits for the device, which then asks
// the communicator (gr_cuda_module.watch).
#pragma once
#include "runtime/comm/collectives.h"

typedef struct gr_nccl_module {  // the table of module "nccl" (base/module.h): nccl_open.c
  gr_status (*load)(void);       // NCCL itself
  int (*version)(void);          // of NCCL, as it counts: 22602 is 2.26.2
  gr_status (*open)(gr_device *, gr_queue, gr_comm *host, double timeout_s, gr_comm **out);
} gr_nccl_module;

extern const gr_collectives gr_collectives_nccl;
