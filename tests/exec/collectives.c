// collectives.c - see collectives.h. Ranks fill their operands from the same counter RNG, so each
// knows what all others have, and what must come out, to the bit.
#include "tests/exec/collectives.h"
#include <stdlib.h>
#include "ops/cpu.h"
#include "runtime/comm.h"

enum { MOST = 300000 };  // elements: some collectives take several rounds

static double element(int round, int rank, int64_t i) {
  uint32_t x = (uint32_t)(round * 7919 + rank * 104729) + (uint32_t)i * 2654435761u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return (double)(x >> 8) / (double)(1 << 20) - 8.0;
}

static void fill(void *to, gr_dtype d, int64_t n, int round, int rank) {
  for (int64_t i = 0; i < n; i++) gr_put(to, d, i, element(round, rank, i));
}

static void add(void *sum, gr_dtype d, const void *term) {
  double a = gr_get(sum, d, 0), b = gr_get(term, d, 0);
  gr_put(sum, d, 0, d == GR_F64 || d == GR_I32 ? a + b : (double)((float)a + (float)b));
}

// The sum of some ranks' terms in rank order, as the contract has it; bf16 is rounded once.
static void sum_of(void *to, gr_dtype d, int64_t i, int round, int from, int ranks) {
  gr_dtype in = d == GR_BF16 ? GR_F32 : d;
  char sum[8] = {0}, term[8], low[8];
  for (int r = from; r < from + ranks; r++) {
    gr_put(low, d, 0, element(round, r, i));
    gr_put(term, in, 0, gr_get(low, d, 0));
    if (r == from)
      memcpy(sum, term, sizeof sum);
    else
      add(sum, in, term);
  }
  gr_put(to, d, 0, gr_get(sum, in, 0));
}

static void expect_sum(char *to, gr_dtype d, int64_t i, int round, const gr_comm *c, int per) {
  if (!per) per = c->ranks;
  char sum[8] = {0}, term[8], machine[8];
  gr_dtype in = d == GR_BF16 ? GR_F32 : d;
  for (int r = 0; r < c->ranks; r += per) {
    sum_of(machine, d, i, round, r, c->ranks - r < per ? c->ranks - r : per);
    gr_put(term, in, 0, gr_get(machine, d, 0));
    if (r == 0)
      memcpy(sum, term, sizeof sum);
    else
      add(sum, in, term);
  }
  gr_put(to, d, 0, gr_get(sum, in, 0));
}

static void expect(gr_collective kind, gr_comm *c, int per, gr_dtype d, int64_t n, int round,
                   char *to) {
  size_t size = gr_dtypes[d].size;
  for (int64_t i = 0; i < n; i++) {
    if (kind == GR_ALL_REDUCE) expect_sum(to + size * (size_t)i, d, i, round, c, per);
    if (kind == GR_REDUCE_SCATTER)
      expect_sum(to + size * (size_t)i, d, c->rank * n + i, round, c, per);
    if (kind == GR_BROADCAST) gr_put(to, d, i, element(round, 0, i));
  }
  for (int r = 0; kind == GR_ALL_GATHER && r < c->ranks; r++)
    fill(to + size * (size_t)(r * n), d, n, round, r);
}

static gr_status check_one(gr_comm *c, int per, gr_collective kind, gr_dtype d, int64_t n,
                           int round, bool in_place, char *in, char *out, char *want) {
  size_t size = gr_dtypes[d].size;
  int64_t n_in = kind == GR_REDUCE_SCATTER ? n * c->ranks : n;
  int64_t n_out = kind == GR_ALL_GATHER ? n * c->ranks : n;
  fill(in, d, n_in, round, c->rank);
  expect(kind, c, per, d, n, round, want);
  if (in_place && (kind == GR_ALL_REDUCE || kind == GR_BROADCAST)) out = in;
  const char *given = kind == GR_BROADCAST && c->rank ? NULL : in;  // only rank 0's is looked at
  GR_TRY(c->does->run(c, kind, d, n, given, out));
  if (kind == GR_BARRIER || !memcmp(out, want, size * (size_t)n_out)) return GR_OK;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "rank %d of %d: collective %d of %lld x %s is wrong",
                 c->rank, c->ranks, (int)kind, (long long)n, gr_dtypes[d].name);
}

gr_status check_collectives(gr_comm *c, int per_machine, int rounds) {
  size_t bytes = 8 * (size_t)MOST * (size_t)c->ranks;
  char *in = malloc(bytes), *out = malloc(bytes), *want = malloc(bytes);
  gr_status s = in && out && want ? GR_OK : gr_fail(GR_ERR_BUG, GR_NOWHERE, "no memory");
  static const int64_t sizes[] = {0, 1, 3, 31, 1000, 4097, 65536, 65537, 131073, MOST};
  for (int round = 0; !s && round < rounds; round++) {
    int64_t n = sizes[(round * 7) % 10];
    if (round >= 40) n = (int64_t)((element(round, -1, 0) + 8.0) / 4096.0 * 4096 * 100);
    s = check_one(c, per_machine, (gr_collective)(round % 5),
                  (gr_dtype)(round / 5 % GR_DTYPE_COUNT), n, round, round % 3 == 0, in, out, want);
  }
  free(in), free(out), free(want);
  return s;
}

// Sums the world's ranks along each axis, and compares with the ranks that differ in it alone.
gr_status check_mesh(gr_comm *world, int rows, int columns) {
  gr_mesh m = {2, {{"row", rows}, {"column", columns}}};
  gr_comm *axis[GR_MAX_MESH];
  GR_TRY(gr_comm_mesh(world, &m, axis));
  for (int a = 0; a < 2; a++) {
    int32_t own = 1 << world->rank, sum = 0, want = 0;
    GR_TRY(axis[a]->does->run(axis[a], GR_ALL_REDUCE, GR_I32, 1, &own, &sum));
    for (int r = 0; r < rows * columns; r++)
      if (gr_mesh_coord(&m, r, !a) == gr_mesh_coord(&m, world->rank, !a)) want += 1 << r;
    if (sum != want || axis[a]->rank != gr_mesh_coord(&m, world->rank, a))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "rank %d, axis %d: members %x, expected %x",
                     world->rank, a, (unsigned)sum, (unsigned)want);
    GR_TRY(check_collectives(axis[a], 0, 20));
  }
  gr_comm_mesh_close(axis, &m);
  return GR_OK;
}
