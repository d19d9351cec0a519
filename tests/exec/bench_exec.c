// bench_exec.c - what waiting, meeting and dispatching cost here. Not a test: figures for people.
//
//   bench_exec              fork and join, an op in a loop, all_reduce over 2 threads
//   mpirun -n 2 bench_exec  all_reduce over processes, and by MPI itself
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "ops/ops.h"
#include "ops/scan.h"
#include "runtime/comm.h"
#include "runtime/cpu.h"
#include "runtime/exec.h"
#include "runtime/launch.h"

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

static double least(double a, double b) { return a < b ? a : b; }

// ---- all_reduce -----------------------------------------------------------------------------

static void reduce(gr_comm *c, const char *who) {
  static const int64_t sizes[] = {1 << 8, 1 << 12, 1 << 14, 1 << 18, 1 << 20, 7150000};
  for (int i = 0; i < 6; i++) {
    int64_t n = sizes[i];
    float *x = aligned_alloc(64, (size_t)n * 4 + 64), *y = aligned_alloc(64, (size_t)n * 4 + 64);
    double best = INFINITY, begun = gr_seconds();
    for (int64_t k = 0; k < n; k++) x[k] = (float)k;
    for (float more = 1; more != 0;) {  // until rank 0 has seen enough
      must(c->does->run(c, GR_BARRIER, GR_F32, 0, NULL, NULL));
      double t = gr_seconds();
      must(c->does->run(c, GR_ALL_REDUCE, GR_F32, n, x, y));
      best = least(best, gr_seconds() - t);
      float own = gr_seconds() - begun < 0.5;
      must(c->does->run(c, GR_BROADCAST, GR_F32, 1, &own, &more));
    }
    if (c->rank == 0)
      printf("%-10s %d ranks, all_reduce %10.1f kB: %9.2f us\n", who, c->ranks, (double)n * 4 / 1e3,
             1e6 * best);
    free(x), free(y);
  }
}

static void *reduce_thread(void *c) {
  reduce(c, "threads");
  return NULL;
}

static void bench_threads(void) {
  gr_loopback *l;
  pthread_t t;
  must(gr_loopback_create(1, 60, &l));
  reduce(gr_loopback_comm(l, 0), "alone");
  gr_loopback_destroy(l);
  must(gr_loopback_create(2, 60, &l));
  pthread_create(&t, NULL, reduce_thread, gr_loopback_comm(l, 1));
  reduce(gr_loopback_comm(l, 0), "threads");
  pthread_join(t, NULL);
  gr_loopback_destroy(l);
}

static void bench_processes(void) {
  gr_comm *world;
  must(gr_mpi_open(60, &world));
  reduce(world, "processes");
  gr_mpi_close(world);
}

// ---- Fork and join ----------------------------------------------------------------------------

static void nothing(void *arg, int64_t from, int64_t to) { (void)arg, (void)from, (void)to; }

static void bench_pool(void) {
  gr_cpu *cpu;
  must(gr_cpu_create(2, false, &cpu));
  double best = INFINITY;
  for (int k = 0; k < 20; k++) {
    double t = gr_seconds();
    for (int i = 0; i < 10000; i++) cpu->parallel(cpu, 2, 1, nothing, NULL);
    best = least(best, (gr_seconds() - t) / 10000);
  }
  printf("fork and join on 2 threads: %.0f ns\n", 1e9 * best);
  gr_cpu_destroy(cpu);
}

// ---- Loops ------------------------------------------------------------------------------------

static gr_status no_work(const gr_launch *l) {
  (void)l;
  return GR_OK;
}
static gr_status same(gr_site *s) {
  s->out[0] = s->in[0];
  return GR_OK;
}
static const gr_attr no_attrs[] = {{0}};
static const gr_op nop = {.name = "nop",
                          .n_in = 2,
                          .n_out = 1,
                          .attrs = no_attrs,
                          .infer = same,
                          .axes = "...,...->...",
                          .cpu = no_work};

enum { STEPS = 1000, NODES = 10 };
static void bench_loop(void) {
  gr_arena *a = gr_arena_create();
  gr_mesh alone = {0};
  gr_builder b = {.g = gr_graph_create(a, &alone)};
  gr_type row = {GR_F32, 1, {64}}, rows = {GR_F32, 2, {STEPS, 64}};
  gr_val x = gr_leaf(&b, GR_INPUT, GR_KIND_WEIGHT, "x", rows, gr_layout_whole), h;
  gr_loop l;
  gr_loop_open(&l, &b, STEPS, false);
  gr_val seq = gr_loop_seq(&l, x), c = gr_loop_zero(&l, row, "h");
  h = c;
  for (int i = 0; i < NODES; i++) h = GR_EMIT(&l.b, &nop, NULL, h, seq);
  gr_loop_next(&l, c, h);
  gr_loop_yield(&l, h);
  gr_loop_close(&l);
  gr_result(&b, "h", gr_loop_stack(&l, 0));
  must(b.err);
  gr_plan *plan;
  gr_compiled one = {.kind = "eval", .bucket = "", .g = b.g};
  must(gr_plan_link(a, &one, 1, &plan));
  gr_exec *e;
  must(gr_exec_open(plan, &(gr_exec_options){.threads = 1}, &e));
  double best = INFINITY;
  for (int i = 0; i < 200; i++) {
    double t = gr_seconds();
    must(gr_exec_run(e, plan->programs));
    best = least(best, gr_seconds() - t);
  }
  printf("a loop's node that does nothing: %.1f ns a step\n", 1e9 * best / STEPS / NODES);
  gr_exec_close(e);
  gr_arena_destroy(a);
}

int main(void) {
  if (gr_launch_started(NULL, NULL)) {
    bench_processes();
    return 0;
  }
  bench_pool();
  bench_loop();
  bench_threads();
  return 0;
}
