// bench_comm.c - what collectives over the ranks of this machine cost, by size: graphrun's in
// memory that ranks reach and in memory that they do not, and MPI's own.
//
//   bench_comm [RANKS [KIND]]   all_reduce, reduce_scatter or all_gather; without arguments:
//                               all_reduce over 2 and over 4 ranks
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "runtime/comm/comm.h"
#include "runtime/launch/launch.h"
#include "tests/timing.h"
#if GR_HAVE_MPI
#include <mpi.h>
#endif

enum { LEAST = 4096, MOST = 128 << 20, RUNS = 400, WAYS = 3 };
static const double patience = 0.4;  // seconds for a size

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

typedef struct bench {
  gr_comm *c;
  gr_collective kind;
  char *reached, *unreached;  // operand and result, side by side
} bench;

static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter"};

// Bytes: of the whole.
static gr_status run_ours(const bench *b, char *data, size_t bytes) {
  int64_t n = (int64_t)(bytes / sizeof(float));
  if (b->kind != GR_ALL_REDUCE) n /= b->c->ranks;
  return gr_comm_run(b->c, b->kind, GR_F32, n, data, b->kind == GR_ALL_REDUCE ? data : data + MOST);
}

static bool run_mpi(const bench *b, size_t bytes) {
#if GR_HAVE_MPI
  int n = (int)(bytes / sizeof(float)), part = n / b->c->ranks, there = 0, failed;
  MPI_Initialized(&there);
  if (!there) return false;
  char *data = b->unreached;
  if (b->kind == GR_ALL_REDUCE)
    failed = MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (b->kind == GR_ALL_GATHER)
    failed = MPI_Allgather(data, part, MPI_FLOAT, data + MOST, part, MPI_FLOAT, MPI_COMM_WORLD);
  else
    failed = MPI_Reduce_scatter_block(data, data + MOST, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (failed) exit(1);
  return true;
#else
  (void)b, (void)bytes;
  return false;
#endif
}

static bool run_way(const bench *b, int way, size_t bytes) {
  if (way == 2) return run_mpi(b, bytes);
  must(run_ours(b, way == 0 ? b->reached : b->unreached, bytes));
  return true;
}

// The ways alternate, so that other load on the machine affects all of them alike.
static int time_all(const bench *b, size_t bytes, double took[WAYS][RUNS]) {
  double begun = gr_seconds();
  int runs = 0;
  for (int32_t more = 1, vote; more; runs++) {
    for (int way = 0; way < WAYS; way++) {
      must(gr_comm_run(b->c, GR_BARRIER, GR_I32, 0, NULL, NULL));
      double start = gr_seconds();
      took[way][runs] = run_way(b, way, bytes) ? gr_seconds() - start : 0;
    }
    vote = runs + 2 < RUNS && gr_seconds() - begun < patience;
    must(gr_comm_run(b->c, GR_BROADCAST, GR_I32, 1, &vote, &more));
  }
  for (int way = 0; way < WAYS; way++) sort_numbers(took[way], runs);
  return runs;
}

static void run_size(const bench *b, size_t bytes) {
  static _Thread_local double took[WAYS][RUNS];
  int runs = time_all(b, bytes, took);
  if (b->c->rank) return;
  printf("%10.1f kB", (double)bytes / 1e3);
  for (int way = 0; way < WAYS; way++)
    printf("  %9.4f %9.4f %6.2f", 1e3 * took[way][0], 1e3 * took[way][runs / 5],
           took[way][0] > 0 ? (double)bytes / took[way][0] / 1e9 : 0);
  printf("\n");
  fflush(stdout);
}

static gr_status run_rank(gr_comm *c, gr_collective kind) {
  void *reached;
  GR_TRY(c->ops->alloc_shared(c, 2 * (size_t)MOST, &reached));
  bench b = {.c = c, .kind = kind, .reached = reached, .unreached = malloc(2 * (size_t)MOST)};
  if (!b.unreached) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory");
  memset(b.reached, 0, 2 * (size_t)MOST), memset(b.unreached, 0, 2 * (size_t)MOST);
  if (c->rank == 0)
    printf(
        "%s of f32 over %d ranks: ms at best, 20th percentile, GB/s at best\n%13s  %26s  %26s  "
        "%26s\n",
        kinds[kind], c->ranks, "", "in memory that all reach", "by buffers", "MPI");
  for (size_t bytes = LEAST; bytes <= MOST; bytes *= 2) {
    run_size(&b, bytes);
    if (bytes == 16 << 20) run_size(&b, 28631168);  // the weights of the full-size LMU-ASR
  }
  free(b.unreached);
  return GR_OK;
}

static gr_collective read_kind(int argc, char **argv) {
  for (int k = 0; k < 3 && argc > 2; k++)
    if (!strcmp(kinds[k], argv[2])) return (gr_collective)k;
  return GR_ALL_REDUCE;
}

static int be_rank(gr_collective kind) {
  gr_comm *world;
  must(gr_mpi_open(60, &world));
  gr_launch_register_rank(world->rank);
  must(run_rank(world, kind));
  int rank = world->rank;
  gr_comm_close(world);
  return gr_launch_report_exit(rank, GR_OK);
}

int main(int argc, char **argv) {
  int first = argc > 1 ? atoi(argv[1]) : 2, last = argc > 1 ? first : 4;
  gr_launch_end end = {0};
  gr_collective kind = read_kind(argc, argv);
  if (gr_launch_started(NULL, NULL)) return be_rank(kind);
  for (int ranks = first; ranks <= last && !end.exit; ranks *= 2) {
    gr_launch_plan plan;
    must(gr_launch_find(ranks, 0, &plan));
    if (plan.kind != GR_LAUNCH_START) fprintf(stderr, "%s\n", plan.why), exit(1);
    must(gr_launch_run(&plan, argv, &end));
  }
  return end.exit;
}
