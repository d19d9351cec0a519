// bench_exec.c - what fork and join of threads, and an op in a loop, cost. Prints figures.
#include <math.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "runtime/device/threads.h"
#include "runtime/exec/exec.h"

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

static double least(double a, double b) { return a < b ? a : b; }

// ---- Fork and join ----------------------------------------------------------------------------

static void nothing(void *arg, int64_t begin, int64_t end) { (void)arg, (void)begin, (void)end; }

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
static gr_status same(gr_op_call *s) {
  s->out[0] = s->in[0];
  return GR_OK;
}
static const gr_attr no_attrs[] = {{0}};
static const gr_op nop = {.name = "nop",
                          .n_in = 2,
                          .n_out = 1,
                          .attrs = no_attrs,
                          .infer = same,
                          .index_spec = "...,...->...",
                          .cpu = no_work};

enum { STEPS = 1000, NODES = 10 };
static void bench_loop(void) {
  gr_arena *a = gr_arena_create();
  gr_mesh alone = {0};
  gr_builder b = {.g = gr_graph_create(a, &alone)};
  gr_type row = {GR_F32, 1, {64}}, rows = {GR_F32, 2, {STEPS, 64}};
  gr_val x = gr_leaf(&b, GR_INPUT, GR_KIND_WEIGHT, "x", rows, gr_layout_replicated), h;
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
  bench_pool();
  bench_loop();
  return 0;
}
