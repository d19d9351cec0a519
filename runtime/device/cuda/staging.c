// staging.c - uploads and downloads by way of pinned memory: the GPU copies to and from memory that
// the system may move only while the host waits.
#include <string.h>
#include "runtime/device/cuda/parts.h"

enum { LINE = 64 };

gr_status gr_staging_open(gr_staging *g, gr_queue queue, int n, size_t bytes) {
  *g = (gr_staging){.n_slots = n, .bytes = bytes, .queue = queue};
  for (int i = 0; i < n; i++) {
    gr_slot *s = &g->slot[i];
    void *memory = NULL;
    CU_TRY(cuMemHostAlloc(&memory, bytes, 0));
    s->memory = memory;
    CU_TRY(cuEventCreate(&s->done, CU_EVENT_DISABLE_TIMING));
  }
  return GR_OK;
}

void gr_staging_close(gr_staging *g) {
  for (int i = 0; i < g->n_slots; i++) {
    gr_slot *s = &g->slot[i];
    if (s->done) gr_cu.cuEventDestroy(s->done);
    if (s->memory) gr_cu.cuMemFreeHost(s->memory);
  }
}

static void land(gr_slot *s) {
  for (int i = 0; i < s->n_landings; i++)
    memcpy(s->landing[i].to, s->landing[i].source, s->landing[i].bytes);
  s->n_landings = 0, s->used = 0, s->busy = false;
}

void gr_staging_land(gr_cuda *c) {
  for (int i = 0; i < c->staging.n_slots; i++) land(&c->staging.slot[i]);
}

// Goes on to the next slot, once the GPU has done with it.
gr_status gr_staging_turn(gr_cuda *c, gr_staging *g) {
  gr_slot *s = &g->slot[g->now];
  CU_TRY(cuEventRecord(s->done, c->stream[g->queue]));
  s->busy = true;
  g->now = (g->now + 1) % g->n_slots;
  s = &g->slot[g->now];
  if (s->busy) GR_TRY(gr_cuda_wait(c, s->done));
  land(s);
  return GR_OK;
}

// Room for at least one byte of `bytes`, and *out_bytes of it.
static gr_status take(gr_cuda *c, gr_staging *g, size_t bytes, gr_slot **out, char **pinned,
                      size_t *out_bytes) {
  gr_slot *s = &g->slot[g->now];
  if (s->used >= g->bytes || s->n_landings == GR_STAGING_LANDINGS) {
    GR_TRY(gr_staging_turn(c, g));
    s = &g->slot[g->now];
  }
  *out = s, *pinned = s->memory + s->used;
  *out_bytes = bytes < g->bytes - s->used ? bytes : g->bytes - s->used;
  s->used += (*out_bytes + LINE - 1) / LINE * LINE;
  return GR_OK;
}

gr_status gr_staging_upload(gr_cuda *c, gr_staging *g, CUdeviceptr to, const char *source,
                            size_t bytes) {
  gr_slot *s;
  char *pinned;
  for (size_t piece; bytes; to += piece, source += piece, bytes -= piece) {
    GR_TRY(take(c, g, bytes, &s, &pinned, &piece));
    memcpy(pinned, source, piece);
    CU_TRY(cuMemcpyHtoDAsync(to, pinned, piece, c->stream[g->queue]));
  }
  return GR_OK;
}

gr_status gr_staging_download(gr_cuda *c, char *to, CUdeviceptr source, size_t bytes) {
  gr_slot *s;
  char *pinned;
  for (size_t piece; bytes; to += piece, source += piece, bytes -= piece) {
    GR_TRY(take(c, &c->staging, bytes, &s, &pinned, &piece));
    CU_TRY(cuMemcpyDtoHAsync(pinned, source, piece, c->stream[GR_QUEUE_TRANSFER]));
    s->landing[s->n_landings++] = (gr_landing){to, pinned, piece};
  }
  return GR_OK;
}
