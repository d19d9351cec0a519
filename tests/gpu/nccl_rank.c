// nccl_rank.c - see nccl_rank.h.
#include "tests/gpu/nccl_rank.h"
#include <stdlib.h>
#include "runtime/comm/nccl.h"
#include "runtime/device/cuda.h"

gr_status nccl_rank_open(nccl_rank *r, gr_comm *host, double timeout_s) {
  gr_device_options o = {.threads = 1, .rank = host->rank, .ranks = host->ranks};
  *r = (nccl_rank){.host = host, .bytes = 8 * (size_t)NCCL_RANK_MOST * (size_t)host->ranks};
  o.local_rank = host->local_rank;
  GR_TRY(gr_device_cuda.open(&o, &r->device));
  GR_TRY(r->device->ops->allocate(r->device, 2 * r->bytes, NULL, &r->block));
  r->in = calloc(3, r->bytes), r->want = r->in + r->bytes, r->got = r->want + r->bytes;
  return gr_collectives_nccl.open(r->device, NCCL_RANK_QUEUE, host, timeout_s, &r->comm);
}

void nccl_rank_close(nccl_rank *r) {
  if (r->device) r->device->ops->forget(r->device);
  if (r->comm) r->comm->ops->close(r->comm);
  if (r->block.address) r->device->ops->free(r->device, &r->block);
  if (r->device) r->device->ops->close(r->device);
  free(r->in);
}

gr_status nccl_rank_upload(const nccl_rank *r, void *target, const void *source, size_t bytes) {
  gr_device *d = r->device;
  GR_TRY(d->ops->upload(d, target, source, bytes));
  GR_TRY(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  return d->ops->wait(d, NCCL_RANK_QUEUE, GR_EVENT_TRANSFERRED);
}

gr_status nccl_rank_fork(const nccl_rank *r) {
  gr_device *d = r->device;
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_FORKED));
  return d->ops->wait(d, NCCL_RANK_QUEUE, GR_EVENT_FORKED);
}

gr_status nccl_rank_join(const nccl_rank *r) {
  gr_device *d = r->device;
  GR_TRY(d->ops->record(d, NCCL_RANK_QUEUE, GR_EVENT_REDUCED));
  return d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_REDUCED);
}

gr_status nccl_rank_download(const nccl_rank *r, void *target, const void *source, size_t bytes) {
  gr_device *d = r->device;
  GR_TRY(nccl_rank_join(r));
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->download(d, target, source, bytes));
  return d->ops->synchronise(d, GR_QUEUE_TRANSFER);
}
