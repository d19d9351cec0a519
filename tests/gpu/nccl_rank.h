// nccl_rank.h - a rank with its GPU and a communicator of NCCL, for tests.
#pragma once
#include "ops/comm/comm.h"
#include "runtime/device/device.h"

enum { NCCL_RANK_MOST = 150000 };  // elements of each rank
// Where the communicator works: beside the compute queue, as in a plan.
static const gr_queue NCCL_RANK_QUEUE = GR_QUEUE_REDUCE;

typedef struct nccl_rank {
  gr_comm *host, *comm;
  gr_device *device;
  gr_device_block block;  // operands, then results at block.at + bytes
  char *in, *want, *got;  // on the host, of `bytes` bytes each
  size_t bytes;
} nccl_rank;

// Opens the device of a rank, its memory, and NCCL's communicator beside `host`, which outlives it.
// Collective. nccl_rank_close follows in any case.
GR_MUST_USE gr_status nccl_rank_open(nccl_rank *, gr_comm *host, double timeout_s);
// Closes what is open of it: records, communicator, memory, device.
void nccl_rank_close(nccl_rank *);
// Between the host and the device, in the order of the collectives; a download has ended when it
// returns.
GR_MUST_USE gr_status nccl_rank_upload(const nccl_rank *, void *target, const void *source,
                                       size_t bytes);
// The collectives that follow wait for the compute queue.
GR_MUST_USE gr_status nccl_rank_fork(const nccl_rank *);
// The compute queue waits for the collectives so far: what lies between the two can be captured.
GR_MUST_USE gr_status nccl_rank_join(const nccl_rank *);
// Copies bytes from the device to the host, and waits for them.
GR_MUST_USE gr_status nccl_rank_download(const nccl_rank *, void *target, const void *source,
                                         size_t bytes);
