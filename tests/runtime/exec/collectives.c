// collectives.c - see collectives.h. Ranks fill their operands from the same counter RNG, so each
// knows what all others have, and what must come out, to the bit.
#include "tests/runtime/exec/collectives.h"
#include <stdlib.h>
#include "ops/kernels/cpu.h"
#include "runtime/comm/comm.h"

enum { MOST = 300000 };  // elements: some collectives take several rounds

static uint32_t mix(int round, int rank, int64_t i) {
  uint32_t x = (uint32_t)(round * 7919 + rank * 104729) + (uint32_t)i * 2654435761u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u;
  return x ^ x >> 16;
}

static double element(int round, int rank, int64_t i) {
  return (double)(mix(round, rank, i) >> 8) / (double)(1 << 20) - 8.0;
}

// One of n, the same on all ranks.
static int draw(int round, int what, int n) {
  return (int)(mix(round, -1 - what, 0) % (uint32_t)n);
}

static void fill(void *to, gr_dtype d, int64_t n, int round, int rank) {
  for (int64_t i = 0; i < n; i++) gr_put(to, d, i, element(round, rank, i));
}

static void add(void *sum, gr_dtype d, const void *term) {
  double a = gr_get(sum, d, 0), b = gr_get(term, d, 0);
  gr_put(sum, d, 0, d == GR_F64 || !gr_dtypes[d].is_float ? a + b : (double)((float)a + (float)b));
}

// The sum of some ranks' terms in rank order, as the contract has it; bf16 and f16 are rounded
// once.
static void sum_of(void *to, gr_dtype d, int64_t i, int round, int first, int ranks) {
  gr_dtype in = gr_is_narrow(d) ? GR_F32 : d;
  char sum[8] = {0}, term[8], low[8];
  for (int r = first; r < first + ranks; r++) {
    gr_put(low, d, 0, element(round, r, i));
    gr_put(term, in, 0, gr_get(low, d, 0));
    if (r == first)
      memcpy(sum, term, sizeof sum);
    else
      add(sum, in, term);
  }
  gr_put(to, d, 0, gr_get(sum, in, 0));
}

static void expect_sum(char *to, gr_dtype d, int64_t i, int round, const gr_comm *c, int per) {
  if (!per) per = c->ranks;
  char sum[8] = {0}, term[8], machine[8];
  gr_dtype in = gr_is_narrow(d) ? GR_F32 : d;
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

// ---- One call -------------------------------------------------------------------------------

enum { PIECES = 7 };
typedef struct call {
  gr_comm *c;
  int per_machine;
  gr_collective kind;
  gr_dtype dtype;
  int round, n;
  bool in_place;
  gr_comm_piece piece[PIECES];
} call;

static int64_t count_in(const call *k, int i) {
  return k->piece[i].count * (k->kind == GR_REDUCE_SCATTER ? k->c->ranks : 1);
}
static int64_t count_out(const call *k, int i) {
  return k->piece[i].count * (k->kind == GR_ALL_GATHER ? k->c->ranks : 1);
}
static int seed(const call *k, int i) { return k->round * PIECES + i; }

// Cuts n elements into pieces, some of them empty, of operands and results that lie in a row.
static void cut(call *k, int64_t n, char *in, char *out) {
  size_t size = gr_dtypes[k->dtype].size, in_offset = 0, out_offset = 0;
  for (int i = 0; i < k->n; i++) {
    int64_t left = n, some = i + 1 < k->n ? n * ((k->round + i) % 4) / 4 : n;
    k->piece[i] = (gr_comm_piece){some, in + in_offset, out + out_offset};
    in_offset += (size_t)count_in(k, i) * size, out_offset += (size_t)count_out(k, i) * size;
    if (k->in_place) k->piece[i].out = in + in_offset - (size_t)count_in(k, i) * size;
    fill(in + in_offset - (size_t)count_in(k, i) * size, k->dtype, count_in(k, i), seed(k, i),
         k->c->rank);
    n = left - some;
  }
}

static gr_status wrong(const call *k, int i, const char *what) {
  return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                 "rank %d of %d, round %d: collective %d, piece %d of %d: %lld x %s: %s",
                 k->c->rank, k->c->ranks, k->round, (int)k->kind, i, k->n,
                 (long long)k->piece[i].count, gr_dtypes[k->dtype].name, what);
}

static gr_status run_call(call *k, char *want) {
  size_t size = gr_dtypes[k->dtype].size;
  gr_comm_piece given[PIECES];
  memcpy(given, k->piece, sizeof given);
  for (int i = 0; i < k->n && k->kind == GR_BROADCAST && k->c->rank; i++)
    given[i].in = NULL;  // only rank 0's is looked at
  GR_TRY(k->c->ops->run(k->c, k->kind, k->dtype, k->n, given));
  for (int i = 0; i < k->n && k->kind != GR_BARRIER; i++) {
    int64_t n = k->piece[i].count;
    expect(k->kind, k->c, k->per_machine, k->dtype, n, seed(k, i), want);
    if (memcmp(k->piece[i].out, want, size * (size_t)count_out(k, i)))
      return wrong(k, i, "wrong result");
    if (k->in_place) continue;
    fill(want, k->dtype, count_in(k, i), seed(k, i), k->c->rank);
    if (memcmp(k->piece[i].in, want, size * (size_t)count_in(k, i)))
      return wrong(k, i, "the operand has changed");
  }
  return GR_OK;
}

// ---- All of them ----------------------------------------------------------------------------

// Memory of two kinds: that other ranks reach, and this rank's own. In some calls rank 0 has
// operands, or only results, in another kind than the others.
typedef struct room {
  char *reached, *unreached, *want;
  size_t bytes;
} room;

static gr_status check_round(gr_comm *c, int per_machine, int round, const room *m) {
  static const int64_t sizes[] = {0, 1, 3, 31, 1000, 4097, 65536, 65537, 131073, MOST};
  static const int pieces[] = {1, 2, PIECES};
  call k = {.c = c, .per_machine = per_machine, .round = round};
  k.kind = (gr_collective)draw(round, 0, 5), k.dtype = (gr_dtype)draw(round, 1, GR_DTYPE_COUNT);
  k.n = k.kind == GR_BARRIER ? 1 : pieces[draw(round, 2, 3)];
  int64_t n = draw(round, 3, 2) ? sizes[draw(round, 4, 10)] : draw(round, 4, MOST);
  k.in_place = (k.kind == GR_ALL_REDUCE || k.kind == GR_BROADCAST) && draw(round, 5, 2);
  int where = draw(round, 6, 6);
  bool odd = where == 0 || (where <= 2 && !c->rank);
  cut(&k, n, odd && where < 2 ? m->unreached : m->reached,
      (odd ? m->unreached : m->reached) + m->bytes);
  return run_call(&k, m->want);
}

gr_status check_collectives(gr_comm *c, int per_machine, int rounds) {
  room m = {.bytes = 8 * (size_t)MOST * (size_t)c->ranks};
  void *reached;
  GR_TRY(c->ops->alloc_shared(c, 2 * m.bytes, &reached));
  m.reached = reached, m.unreached = malloc(2 * m.bytes), m.want = malloc(m.bytes);
  gr_status s = m.unreached && m.want ? GR_OK : gr_fail(GR_ERR_BUG, GR_NOWHERE, "no memory");
  for (int round = 0; !s && round < rounds; round++) s = check_round(c, per_machine, round, &m);
  free(m.unreached), free(m.want);
  return s;
}

// Sums the world's ranks along each axis, and compares with the ranks that differ in it alone.
gr_status check_mesh(gr_comm *world, int rows, int columns) {
  gr_mesh m = {2, {{"row", rows}, {"column", columns}}};
  gr_comm *axis[GR_MAX_MESH];
  GR_TRY(gr_comm_mesh(world, &m, axis));
  for (int a = 0; a < 2; a++) {
    int32_t bit = 1 << world->rank, sum = 0, want = 0;
    GR_TRY(gr_comm_run(axis[a], GR_ALL_REDUCE, GR_I32, 1, &bit, &sum));
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
