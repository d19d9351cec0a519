// nccl.h - collectives of values in the memory of GPUs. The communicator itself is in the module
// graphrun_nccl.so, which is loaded when it is opened first; NCCL (libnccl.so.2) is loaded by that.
//
// It is made from a communicator of the same ranks on the host, which carries NCCL's id, the
// barriers, and the news that a rank has failed. Collectives are put onto a queue of the device and
// can be captured. Their errors show where the host waits for the device, which then asks
// the communicator (gr_cuda_module.watch).
#pragma once
#include "ops/comm/comm.h"
#include "runtime/device/device.h"

typedef struct gr_nccl_module {  // the table of module "nccl" (base/module.h): nccl_open.c
  gr_status (*load)(void);       // NCCL itself
  gr_status (*open)(gr_device *, gr_queue, gr_comm *host, double timeout_s, gr_comm **out);
} gr_nccl_module;

// Opens the communicator of a device of CUDA with the ranks of `host`. Collective over `host`,
// which must live longer. timeout_s bounds opening and every wait for the device. Fails with
// GR_ERR_LAUNCH on all ranks if one of them has no NCCL, GR_ERR_HANG if NCCL does not connect the
// ranks in time.
GR_MUST_USE gr_status gr_nccl_open(gr_device *, gr_queue, gr_comm *host, double timeout_s,
                                   gr_comm **out);

typedef struct gr_nccl_setting {
  const char *name, *value;
} gr_nccl_setting;
enum { GR_NCCL_SETTINGS = 12 };
// Sets NCCL's and CUDA's environment variables that fit this machine, where the user has not set
// them; before a device is opened. several: the ranks are on several machines. deterministic: sums
// are made in an order that does not depend on sizes and channels. Lists what it has set; returns
// how many.
int gr_nccl_set_environment(bool several, bool deterministic,
                            gr_nccl_setting out[GR_NCCL_SETTINGS]);
