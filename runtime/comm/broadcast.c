// broadcast.c - broadcasts bytes from rank 0, gathers those of all ranks, and compares values and
// errors between ranks. See comm.h.
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

gr_status gr_comm_gather(gr_comm *c, gr_arena *a, const void *bytes, size_t n,
                         gr_comm_gathered *out) {
  int32_t here = n < INT32_MAX ? (int32_t)n : INT32_MAX, most = 0;
  *out = (gr_comm_gathered){.bytes = GR_NEW(a, int32_t, c->ranks)};
  GR_TRY(gr_comm_run(c, GR_ALL_GATHER, GR_I32, 1, &here, out->bytes));
  for (int r = 0; r < c->ranks; r++) most = out->bytes[r] > most ? out->bytes[r] : most;
  if (most == INT32_MAX)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "a rank has more than 2 GiB for the others");
  if (!most) return GR_OK;
  int64_t words = ((int64_t)most + 3) / 4;
  int32_t *padded = GR_NEW(a, int32_t, words), *all = GR_NEW(a, int32_t, words * c->ranks);
  memcpy(padded, bytes, n);
  GR_TRY(gr_comm_run(c, GR_ALL_GATHER, GR_I32, words, padded, all));
  out->of_rank = GR_NEW(a, int32_t *, c->ranks);
  for (int r = 0; r < c->ranks; r++) out->of_rank[r] = all + r * words;
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
