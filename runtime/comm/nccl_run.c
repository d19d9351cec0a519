// nccl_run.c - collectives as NCCL's calls on a queue of the device. See nccl.h.
#include <string.h>
#include "runtime/comm/nccl_parts.h"

static const struct type {
  const char *name;
  ncclDataType_t nccl;
} types[] = {{"f32", ncclFloat32}, {"f64", ncclFloat64}, {"bf16", ncclBfloat16},
             {"f16", ncclFloat16}, {"i32", ncclInt32},   {"i64", ncclInt64},
             {"u8", ncclUint8}};

static gr_status find_type(gr_dtype d, ncclDataType_t *out) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(types[i].name, gr_dtypes[d].name)) {
      *out = types[i].nccl;
      return GR_OK;
    }
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "NCCL has no collectives of %s",
                 gr_dtypes[d].name);
}

static gr_status put(gr_nccl_comm *c, gr_collective kind, ncclDataType_t type,
                     const gr_comm_piece *p) {
  cudaStream_t stream = c->cuda->stream(c->device, c->queue);
  size_t n = (size_t)p->count;
  if (!n) return GR_OK;
  if (kind == GR_ALL_REDUCE)
    GR_NCCL_TRY(c, ncclAllReduce(p->in, p->out, n, type, ncclSum, c->comm, stream));
  if (kind == GR_ALL_GATHER) GR_NCCL_TRY(c, ncclAllGather(p->in, p->out, n, type, c->comm, stream));
  if (kind == GR_REDUCE_SCATTER)
    GR_NCCL_TRY(c, ncclReduceScatter(p->in, p->out, n, type, ncclSum, c->comm, stream));
  if (kind == GR_BROADCAST)
    GR_NCCL_TRY(c, ncclBroadcast(p->in, p->out, n, type, 0, c->comm, stream));
  return GR_OK;
}

// A group is closed whatever happens: NCCL counts per thread.
static gr_status put_group(gr_nccl_comm *c, gr_collective kind, ncclDataType_t type, int n,
                           const gr_comm_piece *piece) {
  gr_status s = GR_OK;
  GR_NCCL_TRY(c, ncclGroupStart());
  for (int i = 0; i < n && !s; i++) s = put(c, kind, type, &piece[i]);
  ncclResult_t r = gr_nccl.ncclGroupEnd();
  if (!s && r != ncclSuccess && r != ncclInProgress) s = gr_nccl_failed(c, r, "ncclGroupEnd()");
  return s;
}

gr_status gr_nccl_run(gr_comm *base, gr_collective kind, gr_dtype d, int n,
                      const gr_comm_piece *piece) {
  gr_nccl_comm *c = (gr_nccl_comm *)base;
  ncclDataType_t type = ncclFloat32;
  if (c->ended) return c->host->ops->check(c->host);
  if (kind == GR_BARRIER) return gr_comm_run(c->host, GR_BARRIER, GR_I32, 0, NULL, NULL);
  GR_TRY(find_type(d, &type));
  if (n == 1)
    GR_TRY(put(c, kind, type, piece));
  else
    GR_TRY(put_group(c, kind, type, n, piece));
  return gr_nccl_settle(c, "a collective");
}
