// test_loopback.c - ranks that are threads: sums to the bit, time-outs, failing together.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "base/port.h"
#include "runtime/comm/comm.h"
#include "tests/check.h"
#include "tests/runtime/exec/collectives.h"
#include "tests/timing.h"

enum { MAX_RANKS = 12, LONG_S = 100000 };  // of what no time-out ends
typedef gr_status (*body)(gr_comm *);
typedef struct member {
  pthread_t thread;
  gr_comm *comm;
  body run;
  gr_status status;
  double seconds;
} member;

static void *run_member(void *arg) {
  member *m = arg;
  double begun = gr_seconds();
  m->status = m->run(m->comm);
  m->seconds = gr_seconds() - begun;
  return NULL;
}

// Runs `run` on every rank; the statuses are the caller's.
static void on_ranks(int ranks, double timeout_s, body run, member m[MAX_RANKS]) {
  gr_loopback *world;
  MUST(gr_loopback_create(ranks, timeout_s, &world));
  for (int r = 0; r < ranks; r++) {
    m[r] = (member){.comm = gr_loopback_comm(world, r), .run = run};
    if (pthread_create(&m[r].thread, NULL, run_member, &m[r])) abort();
  }
  for (int r = 0; r < ranks; r++) pthread_join(m[r].thread, NULL);
  gr_loopback_destroy(world);
}

static void all_well(int ranks, body run) {
  member m[MAX_RANKS];
  on_ranks(ranks, LONG_S, run, m);
  for (int r = 0; r < ranks; r++) {
    CHECK(!m[r].status, "rank %d of %d: %s", r, ranks, gr_status_text(m[r].status));
    gr_status_drop(m[r].status);
  }
}

static gr_status many(gr_comm *c) { return check_collectives(c, 0, 200); }
static gr_status mesh_2x2(gr_comm *c) { return check_mesh(c, 2, 2); }
static gr_status mesh_3x2(gr_comm *c) { return check_mesh(c, 3, 2); }

static void collectives(void) {
  for (int ranks = 1; ranks <= 4; ranks++) all_well(ranks, many);
}
static void meshes(void) {
  all_well(4, mesh_2x2);
  all_well(6, mesh_3x2);
}

static gr_status reverse_split(gr_comm *c) {
  gr_comm *half;
  int32_t rank = c->rank, all[MAX_RANKS];
  GR_TRY(c->ops->split(c, c->rank % 2, -c->rank, &half));
  GR_TRY(gr_comm_run(half, GR_ALL_GATHER, GR_I32, 1, &rank, all));
  for (int i = 1; i < half->ranks; i++)
    if (all[i - 1] != all[i] + 2) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "not by key");
  return GR_OK;
}
static void split_is_by_key(void) { all_well(5, reverse_split); }

// A rank that waits for long gives its processor to one that works.
static gr_status rank_1_is_late(gr_comm *c) {
  if (c->rank == 1) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  return gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static void waiting_is_asleep(void) {
  double begun = processor_seconds();
  all_well(4, rank_1_is_late);
  double took = processor_seconds() - begun;
  CHECK(took < 0.1, "three ranks that waited a second took %.2f s of processor time", took);
}

// The others have begun before they are waited for.
static pthread_barrier_t begun;
static gr_status rank_1_stays_away(gr_comm *c) {
  pthread_barrier_wait(&begun);
  return c->rank == 1 ? GR_OK : gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static void timeout_names_the_missing(void) {
  member m[MAX_RANKS];
  pthread_barrier_init(&begun, NULL, 3);
  on_ranks(3, 5, rank_1_stays_away, m);
  pthread_barrier_destroy(&begun);
  for (int r = 0; r < 3; r += 2) {
    CHECK(gr_status_code(m[r].status) == GR_ERR_HANG, "rank %d: %s", r,
          gr_status_text(m[r].status));
    CHECK(strstr(gr_status_text(m[r].status), "rank 1 did not reach"), "rank %d: %s", r,
          gr_status_text(m[r].status));
    CHECK(m[r].seconds > 4.9, "rank %d waited %.2f s", r, m[r].seconds);
    gr_status_drop(m[r].status);
  }
}

static gr_status rank_2_fails(gr_comm *c) {
  if (c->rank == 2) c->ops->abort(c, "the data set is gone");
  return gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static gr_status rank_2_fails_in_a_part(gr_comm *c) {
  gr_comm *part;
  GR_TRY(c->ops->split(c, c->rank / 2, c->rank, &part));
  if (c->rank == 2) part->ops->abort(part, "the data set is gone");
  GR_TRY(gr_comm_run(part, GR_BARRIER, GR_I32, 0, NULL, NULL));
  return gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static void abort_reaches(body run) {
  member m[MAX_RANKS];
  on_ranks(4, LONG_S, run, m);
  for (int r = 0; r < 4; r++) {
    const char *text = gr_status_text(m[r].status);
    CHECK(gr_status_code(m[r].status) == GR_ERR_RANK, "rank %d: %s", r, text);
    CHECK(strstr(text, "rank 2") && strstr(text, "the data set is gone"), "rank %d: %s", r, text);
    gr_status_drop(m[r].status);
  }
}
static void abort_reaches_all(void) {
  abort_reaches(rank_2_fails);
  abort_reaches(rank_2_fails_in_a_part);
}

static gr_status rank_0_leaves(gr_comm *c) {
  if (c->rank == 0) c->ops->close(c);
  return c->rank == 0 ? GR_OK : gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static void leaving_is_noticed(void) {
  member m[MAX_RANKS];
  on_ranks(2, LONG_S, rank_0_leaves, m);
  CHECK(gr_status_code(m[1].status) == GR_ERR_RANK, "%s", gr_status_text(m[1].status));
  gr_status_drop(m[1].status);
}

// A list of many ranks ends with dots, and not within the number of one.
static gr_status rank_0_waits(gr_comm *c) {
  return c->rank ? GR_OK : gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL);
}
static void a_timeout_names_few_of_many(void) {
  static const char want[] = "ranks 1, 2, 3, 4, 5, 6, 7, 8, ... did not reach";
  member m[MAX_RANKS];
  on_ranks(MAX_RANKS, 0.1, rank_0_waits, m);
  CHECK(strstr(gr_status_text(m[0].status), want), "%s", gr_status_text(m[0].status));
  for (int r = 0; r < MAX_RANKS; r++) gr_status_drop(m[r].status);
}

static gr_status ranks_disagree(gr_comm *c) {
  float x[2] = {0};
  return gr_comm_run(c, GR_ALL_REDUCE, GR_F32, 1 + (c->rank == 1), x, x);
}
static void disagreement_is_noticed(void) {
  member m[MAX_RANKS];
  on_ranks(3, LONG_S, ranks_disagree, m);
  for (int r = 0; r < 3; r++) {
    CHECK(gr_status_code(m[r].status) == GR_ERR_BUG, "rank %d: %s", r, gr_status_text(m[r].status));
    gr_status_drop(m[r].status);
  }
}

// ---- What ranks have in common -----------------------------------------------------------------

static gr_status share_bytes(gr_comm *c) {
  static const size_t sizes[] = {0, 1, 3, 4, 5000001};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    gr_arena *a = gr_arena_create();
    size_t n = c->rank ? 7 : sizes[i];
    char *bytes = gr_arena_alloc(a, sizes[i] + 1);
    for (size_t k = 0; k < sizes[i]; k++) bytes[k] = (char)(c->rank ? 0 : k * 31 + k / 256);
    GR_TRY(gr_comm_share(c, a, &bytes, &n));
    if (n != sizes[i]) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%zu bytes, not %zu", n, sizes[i]);
    for (size_t k = 0; k < n; k++)
      if (bytes[k] != (char)(k * 31 + k / 256))
        return gr_fail(GR_ERR_BUG, GR_NOWHERE, "byte %zu of %zu is another", k, n);
    gr_arena_destroy(a);
  }
  return GR_OK;
}
static gr_status compare_values(gr_comm *c) {
  for (int other = 0; other <= c->ranks; other++) {
    uint64_t value = UINT64_C(1) << 40 | (uint64_t)(other && c->rank >= other) << 63;
    int rank;
    GR_TRY(gr_comm_compare(c, value, &rank));
    if (rank != (other && other < c->ranks ? other : -1))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "rank %d is another, not %d", rank, other);
  }
  return GR_OK;
}
// Rank r has r times 3 bytes, and none where there is one rank alone.
static gr_status gather_bytes(gr_comm *c) {
  gr_arena *a = gr_arena_create();
  gr_comm_gathered all;
  char bytes[64];
  memset(bytes, 'a' + c->rank, sizeof bytes);
  GR_TRY(gr_comm_gather(c, a, bytes, 3 * (size_t)c->rank, &all));
  for (int r = 0; r < c->ranks; r++) {
    if (all.bytes[r] != 3 * r)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%d bytes of rank %d", all.bytes[r], r);
    const char *of = all.of_rank ? (const char *)all.of_rank[r] : "";
    for (int k = 0; k < (3 * r + 3) / 4 * 4; k++)
      if (of[k] != (k < 3 * r ? 'a' + r : 0))
        return gr_fail(GR_ERR_BUG, GR_NOWHERE, "byte %d of rank %d is another", k, r);
  }
  bool none = !all.of_rank;
  gr_arena_destroy(a);
  return none == (c->ranks == 1) ? GR_OK : gr_fail(GR_ERR_BUG, GR_NOWHERE, "none are given");
}
static void ranks_share_and_compare(void) {
  all_well(1, share_bytes);
  all_well(3, share_bytes);
  all_well(1, gather_bytes);
  all_well(6, gather_bytes);
  all_well(4, compare_values);
}

static gr_status two_fail(gr_comm *c) {
  gr_status status = c->rank == 1 || c->rank == 3
                         ? gr_fail(GR_ERR_DATA, GR_NOWHERE, "of rank %d", c->rank)
                         : GR_OK;
  return gr_comm_all_ok(c, status);
}
static void one_failure_is_told(void) {
  member m[MAX_RANKS];
  on_ranks(4, LONG_S, two_fail, m);
  for (int r = 0; r < 4; r++) {
    gr_code want = r == 1 ? GR_ERR_DATA : GR_ERR_RANK;
    CHECK(gr_status_code(m[r].status) == want, "rank %d: %s", r, gr_status_text(m[r].status));
    gr_status_drop(m[r].status);
  }
}

// A world of any size in one thread: rank 0 of it, and others that have the same values but one.
typedef struct crowd {
  gr_comm base;
  int odd;
} crowd;
static gr_status gather_crowd(gr_comm *c, gr_collective kind, gr_dtype d, int n,
                              const gr_comm_piece *p) {
  (void)kind, (void)d, (void)n;
  for (int r = 0; r < c->ranks; r++) {
    int32_t *to = (int32_t *)p->out + r * p->count;
    memcpy(to, p->in, sizeof *to * (size_t)p->count);
    to[0] += r == ((crowd *)c)->odd;
  }
  return GR_OK;
}
static void many_ranks_are_compared(void) {
  static const gr_comm_vtable does = {.run = gather_crowd};
  static const int odd[] = {-1, 1, 1023, 1024, 4999};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    crowd c = {.base = {.ops = &does, .ranks = 5000}, .odd = odd[i]};
    int rank;
    MUST(gr_comm_compare(&c.base, 12345, &rank));
    CHECK(rank == odd[i], "rank %d is another, not %d", rank, odd[i]);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"collectives", collectives}, {"meshes", meshes},
             {"split_is_by_key", split_is_by_key}, {"waiting_is_asleep", waiting_is_asleep},
             {"timeout_names_the_missing", timeout_names_the_missing},
             {"a_timeout_names_few_of_many", a_timeout_names_few_of_many},
             {"abort_reaches_all", abort_reaches_all}, {"leaving_is_noticed", leaving_is_noticed},
             {"disagreement_is_noticed", disagreement_is_noticed},
             {"ranks_share_and_compare", ranks_share_and_compare},
             {"one_failure_is_told", one_failure_is_told},
             {"many_ranks_are_compared", many_ranks_are_compared});
}
