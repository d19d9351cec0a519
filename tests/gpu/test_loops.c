// test_loops.c - loops as one kernel on the device cuda (ops/loop/scan_gpu.c), against the CPU
// running their nodes step by step: random bodies of products and elementwise nodes, with rows,
// fused or not, forwards and backwards, with carries that start at zero, are handed on, or come
// from the data.
#include <math.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "compiler/pass.h"
#include "ops/kernels/gpu.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/gpu/loops.h"

enum { BODIES = 24, MOST = 6 * 40 * 40 };

static float random_float(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 16) / 32768 - 1;
}

// Runs a graph on a device, and reads all its results, one after the other.
static void run(const gr_graph *g, gr_arena *arena, const gr_device_ops *device, float *out) {
  static float data[MOST];
  gr_plan *plan;
  gr_exec *e;
  gr_compiled c = {.kind = "train", .bucket = "", .g = g, .gpu = device->gpu};
  MUST(gr_plan_link(arena, &c, 1, &plan));
  gr_exec_options o = {.device = device, .threads = 1};
  MUST(gr_exec_open(plan, &o, &e));
  for (uint32_t i = 1; i < g->n_values; i++) {
    uint32_t seed = i;
    if (g->values[i].role != GR_INPUT) continue;
    gr_exec_tensor t = gr_exec_input(e, plan->programs, g->values[i].name);
    for (size_t k = 0; k < t.bytes / sizeof(float); k++) data[k] = random_float(&seed);
    MUST(gr_exec_write(e, &t, data));
    MUST(gr_exec_wait(e));
  }
  MUST(gr_exec_run(e, plan->programs));
  for (uint32_t k = 0; k < g->n_results; k++) {
    gr_exec_tensor t = gr_exec_result(e, plan->programs, g->result_names[k]);
    MUST(gr_exec_read(e, &t, out));
    MUST(gr_exec_wait(e));
    out += t.bytes / sizeof(float);
  }
  gr_exec_close(e);
}

static bool is_one_kernel(gr_arena *arena, const gr_graph *g) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  bool all = true;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_op_call call;
    gr_op_call_of(g, &g->nodes[i], &call);
    gr_gpu_call d = {.call = &call, .arena = arena, .launch = launch};
    gr_status s = gr_gpu_describe(&d);
    all &= !s;
    gr_status_drop(s);
  }
  return all;
}

static void compare(const gr_graph *g, const float *x, const float *y, uint32_t seed) {
  for (uint32_t k = 0; k < g->n_results; k++) {
    int64_t n = gr_type_count(&gr_at(g, g->results[k])->type);
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
      double off = fabs((double)x[i] - (double)y[i]) / (1 + fabs((double)y[i]));
      if (!(off <= worst)) worst = off;
    }
    CHECK(worst < 2e-4, "body %u, result %u is off by %g", seed, k, worst);
    x += n, y += n;
  }
}

static void one(uint32_t seed, int64_t steps, int64_t side, const gr_device_ops *device) {
  static float want[8 * MOST], got[8 * MOST];
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  MUST(loops_random(arena, seed, steps, side, &g));
  if (seed % 2) MUST(gr_pass_run(arena, "fuse", g, &(gr_options){.optimizer = "sgd"}, &g));
  CHECK(is_one_kernel(arena, g), "body %u runs node by node", seed);
  run(g, arena, &gr_device_cpu, want);
  run(g, arena, device, got);
  compare(g, got, want, seed);
  gr_arena_destroy(arena);
}

static void random_bodies(void) {
  const gr_device_ops *device;
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = 1; seed <= BODIES; seed++)
    one(seed, 4 + seed % 3, seed % 4 ? 3 + seed % 5 : 37, device);
}

int main(int argc, char **argv) { return RUN(argc, argv, {"random_bodies", random_bodies}); }
