// rates.c - how fast this machine computes, copies and adds up over two ranks. See findings.h.
//
// Each is the best of what fits into a part of a second, beside a ceiling that a machine without
// other work comes near to: of products what the cores can do at the clock that the system states;
// of copies, the same in the processors' own caches; of sums over two ranks, the half of a copy,
// because each rank gets all of it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cli/check/findings.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gemm.h"
#include "runtime/comm/comm.h"
#include "runtime/device/threads.h"
#include "runtime/launch/launch.h"

enum { SIDE = 1024, COPIED = 64 << 20, CACHED = 96 << 10, SUMMED = 16 << 20, RANKS = 2 };
static const double duration = 0.2, startup = 10;  // seconds
static const double little = 0.2;                  // of a ceiling, below which a rate shows
static const char mark[] = "bytes a second: ";     // before the rate that rank 0 prints

// Times a function until the duration is over; returns the seconds of the best run.
static double best_of(void (*run)(void *), void *arg) {
  double begun = gr_seconds(), best = 0;
  run(arg);  // the first touches memory and wakes threads
  do {
    double start = gr_seconds();
    run(arg);
    double took = gr_seconds() - start;
    if (best == 0 || took < best) best = took;
  } while (gr_seconds() - begun < duration);
  return best;
}

static void put_rate(gr_findings *f, const char *name, double rate, const char *unit,
                     double ceiling) {
  const gr_text t = gr_text_make(f->arena);
  gr_text share = t;
  if (ceiling > 0) gr_text_printf(&share, ", %.0f%% of %.1f", 100 * rate / ceiling, ceiling / 1e9);
  gr_finding *found = gr_found(f, name, "%.1f G%s%s", rate / 1e9, unit, share.chars);
  found->number = rate, found->unit = unit;
  if (ceiling > 0 && rate < little * ceiling)
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "other programs may use the processors or the memory: `uptime`, `top`; once "
                     "they have ended, check again");
}

// ---- Products, copies ---------------------------------------------------------------------------

typedef struct work {
  gr_launch launch;  // its context: the threads
  int threads;
  float *memory;  // 2 COPIED
  int64_t bytes;  // that each thread copies,
  int times;      // so often
} work;

static void multiply(void *arg) {
  work *w = arg;
  gr_gemm g = gr_gemm_dense(false, false, SIDE, SIDE, SIDE);
  float *b = w->memory + SIDE * SIDE, *c = b + SIDE * SIDE;
  g.scratch = c + SIDE * SIDE;
  gr_gemm_run(&w->launch, &g, w->memory, b, c);
}

static void copy_parts(void *arg, int64_t begin, int64_t end) {
  const work *w = arg;
  for (char *part; begin < end; begin++)
    for (int i = 0; i < w->times; i++) {
      part = (char *)w->memory + 2 * begin * w->bytes;
      memcpy(part + w->bytes, part, (size_t)w->bytes);
      __asm__ volatile("" ::"r"(part) : "memory");
    }
}
static void copy(void *arg) {
  work *w = arg;
  gr_parallel(&w->launch, w->threads, 1, copy_parts, w);
}

static double copy_rate(work *w, int64_t bytes, int times) {
  w->bytes = bytes & -64, w->times = times;
  return (double)w->bytes * w->threads * times / best_of(copy, w);
}

// Returns the rate of copies.
static double find_alone(gr_findings *f, work *w) {
  gr_machine m;
  gr_machine_read(&m);
  double cores = (double)w->threads / (1 + m.twin);
  double flops = 2.0 * SIDE * SIDE * SIDE / best_of(multiply, w);
  put_rate(f, "matrix product", flops, "FLOP/s", cores * m.hertz * m.flops_per_tick);
  double cached = copy_rate(w, CACHED < COPIED / w->threads ? CACHED : COPIED / w->threads, 256);
  double rate = copy_rate(w, COPIED / w->threads, 1);
  put_rate(f, "memory copy", rate, "B/s", cached);
  return rate;
}

static gr_status open_work(work *w) {
  gr_cpu *cpu;
  w->threads = gr_processors();
  GR_TRY(gr_gemm_open());
  GR_TRY(gr_cpu_create(w->threads, false, &cpu));
  w->launch.context = cpu;
  w->memory = gr_large_alloc(2 * (size_t)COPIED);
  if (!w->memory)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for %d MB", 2 * COPIED >> 20),
                   "end other programs, or raise the limit: `ulimit -v unlimited`");
  memset(w->memory, 0, 2 * (size_t)COPIED);
  return GR_OK;
}

// ---- All-reduce ---------------------------------------------------------------------------------

// The bytes a second of a sum over all ranks, in memory that they share.
static gr_status measure_sum(gr_comm *c, double *rate) {
  void *memory;
  double best = 0, begun = gr_seconds();
  int64_t n = SUMMED / sizeof(float);
  GR_TRY(c->ops->alloc_shared(c, SUMMED, &memory));
  memset(memory, 0, SUMMED);
  for (int32_t more = 1; more;) {
    GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
    double start = gr_seconds();
    GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_F32, n, memory, memory));
    double took = gr_seconds() - start;
    if (best == 0 || took < best) best = took;
    int32_t vote = gr_seconds() - begun < duration;
    GR_TRY(gr_comm_run(c, GR_BROADCAST, GR_I32, 1, &vote, &more));
  }
  *rate = SUMMED / best;
  return GR_OK;
}

typedef struct member {
  gr_comm *comm;
  gr_status status;
  double rate;
  pthread_t thread;
} member;

static void *run_member(void *arg) {
  member *m = arg;
  m->status = measure_sum(m->comm, &m->rate);
  if (m->status) m->comm->ops->abort(m->comm, "the measurement has failed");
  return NULL;
}

static gr_status sum_threads(double *rate) {
  gr_loopback *world;
  member m[RANKS] = {0};
  int started = 0, error = 0;
  GR_TRY(gr_loopback_create(RANKS, startup, &world));
  for (; started < RANKS && !error; started += !error) {
    m[started].comm = gr_loopback_comm(world, started);
    error = pthread_create(&m[started].thread, NULL, run_member, &m[started]);
  }
  if (error) m[0].comm->ops->abort(m[0].comm, "a thread could not be started");
  gr_status s = error ? gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no thread for rank %d: %s", started,
                                strerror(error))
                      : GR_OK;
  for (int i = 0; i < started; i++) {
    pthread_join(m[i].thread, NULL);
    s = gr_also(s, m[i].status);
  }
  gr_loopback_destroy(world);
  *rate = m[0].rate;
  return s;
}

static bool never(void) { return false; }

bool gr_check_is_rank(void) { return gr_launch_own(); }

static gr_status be_rank(int rank) {
  gr_comm *world = NULL;
  double rate;
  gr_launch_watch_startup(rank, startup, never);
  gr_status s = gr_mpi_open(startup, &world);
  gr_launch_startup_done();
  s = s ? s : measure_sum(world, &rate);
  if (!s && rank == 0) printf("%s%.0f\n", mark, rate), fflush(stdout);
  if (s && world) world->ops->abort(world, "the measurement has failed");
  gr_comm_close(world);
  return s;
}

void gr_check_as_rank(void) {
  int rank = 0;
  gr_launch_started(&rank, NULL);
  gr_launch_register_rank(rank);
  exit(gr_launch_report_exit(rank, be_rank(rank)));
}

// Starts the ranks with what all of them print in the file, whose descriptor is given.
static gr_status start_ranks(const gr_launch_plan *p, char *const argv[], int file, int *code) {
  int before[2];
  fflush(NULL);
  for (int i = 0; i < 2; i++) before[i] = dup(i + 1), dup2(file, i + 1);
  gr_status s = gr_launch_run(p, argv, code);
  fflush(NULL);
  for (int i = 0; i < 2; i++) dup2(before[i], i + 1), close(before[i]);
  return s;
}

// The text of an error that was printed, without what Open MPI says around it.
static gr_status said(const char *text, int code) {
  const char *error = strstr(text, "error: ");
  int n = (int)strcspn(error ? error : text, "\n");
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "ranks end with exit code %d: %.*s", code, n,
                 error ? error : text);
}

static gr_status sum_processes(const gr_launch_plan *p, char *const argv[], double *rate) {
  char text[4096] = "";
  int code = 0, file = memfd_create("graphrun-check", MFD_CLOEXEC);
  if (file < 0) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for what ranks print");
  gr_status s = start_ranks(p, argv, file, &code);
  ssize_t n = pread(file, text, sizeof text - 1, 0);
  close(file);
  text[n > 0 ? n : 0] = 0;
  const char *found = strstr(text, mark);
  if (found) *rate = atof(found + strlen(mark));
  return s ? s : code || !found ? said(text, code) : GR_OK;
}

// As a run of two ranks starts them: as processes where MPI is there, else as threads.
static void find_sum(gr_findings *f, char *const argv[], double copies) {
  gr_launch_plan p = {.kind = GR_LAUNCH_NO_MPI};
  double rate = 0;
  gr_status s = gr_launch_started(NULL, NULL) ? GR_OK : gr_launch_find(RANKS, 0, &p);
  bool threads = p.kind != GR_LAUNCH_START;
  if (!s) s = threads ? sum_threads(&rate) : sum_processes(&p, argv, &rate);
  const char *why = strchr(p.why, ';');
  gr_found(f, "two ranks", "as %s%s", threads ? "threads of one process" : "processes of mpirun",
           threads && why ? why : "");
  if (threads && why)
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "threads train as well; ranks that are processes, also on several machines, "
                     "take Open MPI (Debian: openmpi-bin) or another launcher: docs/running.md");
  if (s)
    gr_found_error(f, "all-reduce", GR_FINDING_FAILS, s,
                   "try `mpirun -n 2 hostname`; distributed.backend=loopback has ranks as threads");
  else
    put_rate(f, "all-reduce", rate, "B/s", copies / RANKS);
}

void gr_check_rates(gr_findings *f, char *const argv[]) {
  work w = {.threads = 0};
  double copies = 0;
  f->section = "rates";
  gr_status s = open_work(&w);
  if (s)
    gr_found_error(f, "matrix product", GR_FINDING_FAILS, s, "a run would fail so too");
  else
    copies = find_alone(f, &w);
  free(w.memory);
  gr_cpu_destroy(w.launch.context);
  find_sum(f, argv, copies);
}
