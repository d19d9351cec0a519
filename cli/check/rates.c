// rates.c - how fast this machine computes, copies, and adds up over two ranks. See findings.h.
//
// Each is the best of a part of a second, beside a ceiling that an idle machine comes near to: of
// products what the cores do at the clock that the system states; of copies, the same in the
// processors' own caches; of sums a copy of as many bytes.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/stop.h"
#include "cli/check/findings.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gemm.h"
#include "runtime/comm/comm.h"
#include "runtime/device/threads.h"
#include "runtime/launch/launch.h"

enum { SIDE = 1024, MOVED = 64 << 20, CACHED = 64 << 10, RANKS = 2 };
static const double duration = 0.2, startup = 10;  // seconds
static const double little = 0.1;                  // of a ceiling, below which a rate shows
static const char mark[] = "bytes a second: ";     // before the rate that rank 0 prints

static void put_rate(gr_findings *f, const char *name, double rate, const char *unit,
                     double ceiling) {
  static const char again[] = "other programs may be at work: `top` shows them; check again later";
  bool known = ceiling > 0;
  gr_found_number(
      f, name, gr_limits_if(known && rate < little * ceiling), again, rate, unit,
      known ? gr_arena_printf(f->arena, ", %.0f%% of %.1f", 100 * rate / ceiling, ceiling / 1e9)
            : "");
}

// ---- Products, copies ---------------------------------------------------------------------------

typedef struct work {
  gr_launch launch;  // its context: the threads
  char *memory;      // of 2 MOVED bytes
  int64_t copied;    // bytes; 0: a product
} work;

static void multiply_or_copy(const work *w) {
  enum { MATRIX = SIDE * SIDE * sizeof(float) };
  gr_gemm g = gr_gemm_dense(false, false, SIDE, SIDE, SIDE);
  char *m = w->memory;
  g.scratch = m + 3 * MATRIX;
  if (w->copied)
    gr_copy_rows(&w->launch, m + MOVED, w->copied, m, w->copied, w->copied, 1);
  else
    gr_gemm_run(&w->launch, &g, (float *)m, (float *)(m + MATRIX), (float *)(m + 2 * MATRIX));
}

// The seconds of the best of those that begin within the duration.
static double best_of(work *w, int64_t copied) {
  double begun = gr_seconds(), best = 1e9;
  w->copied = copied;
  for (double start; (start = gr_seconds()) - begun < duration || best == 1e9;) {
    multiply_or_copy(w);
    if (gr_seconds() - start < best) best = gr_seconds() - start;
  }
  return best;
}

// Returns the rate of copies.
static double find_alone(gr_findings *f, work *w, int threads) {
  gr_machine m;
  int64_t cached = (int64_t)threads * CACHED < MOVED ? threads * CACHED : MOVED;
  gr_machine_read(&m);
  put_rate(f, "matrix product", 2.0 * SIDE * SIDE * SIDE / best_of(w, 0), "FLOP/s",
           m.hertz * m.flops_per_tick * threads / (1 + m.twin));
  double rate = MOVED / best_of(w, MOVED);
  put_rate(f, "memory copy", rate, "B/s", (double)cached / best_of(w, cached));
  return rate;
}

static double find_rates(gr_findings *f) {
  int threads = gr_processors();
  double copies = 0;
  gr_cpu *cpu = NULL;
  gr_status s = gr_gemm_open();
  s = s ? s : gr_cpu_create(threads, false, &cpu);
  work w = {.launch.context = cpu, .memory = s ? NULL : gr_large_alloc(2 * (size_t)MOVED)};
  if (!s && !w.memory)
    s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d MB", 2 * MOVED >> 20);
  if (!s) memset(w.memory, 0, 2 * (size_t)MOVED), copies = find_alone(f, &w, threads);
  if (s) gr_found_error(f, "matrix product", "end other programs, or `ulimit -v unlimited`", s);
  free(w.memory);
  gr_cpu_destroy(cpu);
  return copies;
}

// ---- Sums over ranks ----------------------------------------------------------------------------

// The bytes a second of a sum, in memory that the ranks share; of rank 0 in `out`, a double.
static gr_status measure_sum(gr_comm *c, void *out) {
  void *memory;
  double best = 1e9, begun = gr_seconds();
  GR_TRY(c->ops->alloc_shared(c, MOVED, &memory));
  memset(memory, 0, MOVED);
  for (int32_t more = 1; more;) {
    GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
    double start = gr_seconds();
    GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_F32, MOVED / 4, memory, memory));
    if (gr_seconds() - start < best) best = gr_seconds() - start;
    int32_t vote = gr_seconds() - begun < duration;
    GR_TRY(gr_comm_run(c, GR_BROADCAST, GR_I32, 1, &vote, &more));
  }
  if (c->rank == 0) *(double *)out = MOVED / best;
  return GR_OK;
}

void gr_check_as_rank(void) {
  int rank = 0;
  double rate = 0;
  gr_comm *world = NULL;
  if (!gr_launch_own()) return;
  gr_launch_started(&rank, NULL);
  gr_launch_register_rank(rank);
  gr_launch_watch_startup(rank, startup, gr_stop_due);
  gr_status s = gr_mpi_open(startup, &world);
  gr_launch_startup_done();
  s = s ? s : measure_sum(world, &rate);
  if (!s && rank == 0) printf("%s%.0f\n", mark, rate), fflush(stdout);
  if (s && world) world->ops->abort(world, "the measurement has failed");
  gr_comm_close(world);
  exit(gr_launch_report_exit(rank, s));
}

// What the ranks and their launcher print goes to a file in memory.
static gr_status sum_processes(const gr_launch_plan *p, char *const argv[], double *rate) {
  char text[4096] = "";
  gr_launch_end end = {0};
  int file = memfd_create("graphrun-check", MFD_CLOEXEC), before[] = {dup(1), dup(2)};
  if (file < 0 || before[0] < 0 || before[1] < 0)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no descriptor for what ranks print");
  fflush(NULL);
  dup2(file, 1), dup2(file, 2);
  gr_status s = gr_launch_run(p, argv, &end);
  fflush(NULL);
  for (int i = 0; i < 2; i++) dup2(before[i], i + 1), close(before[i]);
  ssize_t n = pread(file, text, sizeof text - 1, 0);
  close(file);
  text[n > 0 ? n : 0] = 0;
  const char *found = strstr(text, mark), *error = strstr(text, "error: ");
  if (found) *rate = atof(found + strlen(mark));
  if (s || (found && !end.exit)) return s;
  if (!error) error = text;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "ranks end with exit code %d: %.*s", end.exit,
                 (int)strcspn(error, "\n"), error);
}

// As a run of two ranks starts them: as processes where MPI is there, else as threads.
static void find_sum(gr_findings *f, char *const argv[], double copies) {
  gr_launch_plan p = {.kind = GR_LAUNCH_NO_MPI};
  double rate = 0;
  gr_status s = gr_launch_started(NULL, NULL) ? GR_OK : gr_launch_find(RANKS, 0, &p);
  bool processes = p.kind == GR_LAUNCH_START;
  const char *why = processes ? NULL : strchr(p.why, ';');
  if (!s)
    s = processes ? sum_processes(&p, argv, &rate)
                  : gr_loopback_run(RANKS, startup, measure_sum, &rate);
  gr_found(f, "two ranks", gr_limits_if(why),
           "threads train as well; processes, and several machines, need Open MPI (Debian: "
           "openmpi-bin) or another launcher: docs/running.md",
           "as %s%s", processes ? "processes of mpirun" : "threads of one process", why ? why : "");
  if (s)
    gr_found_error(f, "all-reduce", "try `mpirun -n 2 hostname`, or distributed.backend=loopback",
                   s);
  else
    put_rate(f, "all-reduce", rate, "B/s", copies);
}

void gr_check_rates(gr_findings *f, char *const argv[]) {
  f->section = "rates";
  double copies = find_rates(f);
  find_sum(f, argv, copies);
}
