// broadcast.c - broadcasts bytes from rank 0, and compares values and errors between ranks. See
// comm.h.
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "runtime/comm/comm.h"

gr_status gr_comm_share(gr_comm *c, gr_arena *arena, char **bytes, size_t *n) {
  int32_t halves[2] = {(int32_t)(uint32_t)*n, (int32_t)(uint32_t)((uint64_t)*n >> 32)}, got[2];
  GR_TRY(gr_comm_run(c, GR_BROADCAST, GR_I32, 2, halves, got));
  size_t size = (size_t)(uint32_t)got[0] | (size_t)(uint32_t)got[1] << 32, words = (size + 3) / 4;
  int32_t *in = GR_NEW(arena, int32_t, words + 1), *out = GR_NEW(arena, int32_t, words + 1);
  if (c->rank == 0) memcpy(in, *bytes, size);
  GR_TRY(gr_comm_run(c, GR_BROADCAST, GR_I32, (int64_t)words, in, out));
  if (c->rank) *bytes = (char *)out, *n = size;
  return GR_OK;
}

gr_status gr_comm_compare(gr_comm *c, uint64_t value, int *out_rank) {
  int32_t words[2] = {(int32_t)(uint32_t)value, (int32_t)(uint32_t)(value >> 32)};
  int32_t *all = calloc((size_t)c->ranks, sizeof words);
  *out_rank = -1;
  if (!all) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to compare %d ranks", c->ranks);
  gr_status s = gr_comm_run(c, GR_ALL_GATHER, GR_I32, 2, words, all);
  for (int r = c->ranks - 1; r > 0 && !s; r--)
    if (all[2 * r] != all[0] || all[2 * r + 1] != all[1]) *out_rank = r;
  free(all);
  return s;
}

gr_status gr_comm_all_ok(gr_comm *c, gr_status status) {
  int32_t failed = status != GR_OK, *all = calloc((size_t)c->ranks, sizeof *all);
  int first = -1;
  if (!all) return gr_also(status, gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory"));
  gr_status s = gr_comm_run(c, GR_ALL_GATHER, GR_I32, 1, &failed, all);
  for (int r = c->ranks - 1; r >= 0 && !s; r--)
    if (all[r]) first = r;
  free(all);
  if (s || first < 0 || first == c->rank) return gr_also(status, s);
  gr_status_drop(status);
  return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank %d failed", first);
}
