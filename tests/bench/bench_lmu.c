// bench_lmu.c - step time of the full-size LMU-ASR on made-up input: batch 8, 300 frames.
//
//   bench_lmu [threads [steps [PRECISION [profile]]]]    prints one line: seconds of processors
//   and of time a step, medians
//
// PRECISION is the dtype of products: f32, bf16 or f16.
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "compiler/compile.h"
#include "runtime/exec/exec.h"
#include "tests/on_host.h"
#include "tests/timing.h"

enum { BATCH = 8, FRAMES = 300, SYMBOLS = 40, VOCAB = 32 };

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

static gr_plan *plan(gr_arena *a, gr_dtype precision) {
  gr_conf *graph;
  must(gr_conf_read(a, "graphs/lmu_asr.yaml", &graph));
  static const gr_dim dims[] = {
      {"n", BATCH},
      {"t", FRAMES},
      {"u", SYMBOLS},
  };
  static const gr_bucket bucket = {.name = ""};
  gr_plan_request r = {.model = {.graph = graph,
                                 .dims = dims,
                                 .n_dims = 3,
                                 .seed = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "adam",
                                   .optimizer.grad_clip = 0.5,
                                   .precision.dtype = precision},
                       .buckets = &bucket,
                       .n_buckets = 1,
                       .train = true};
  gr_plan *p;
  must(gr_plan_build(a, &r, &p));
  return p;
}

static void fill(gr_exec *e, const gr_program *p) {
  gr_type t;
  gr_rng r = gr_rng_make(1, "bench", 0);
  float *x = input_on_host(e, p, "x", &t);
  for (int64_t i = 0; i < gr_type_count(&t); i++) x[i] = (float)gr_rng_normal(&r, (uint64_t)i);
  int32_t *y = input_on_host(e, p, "targets", &t);
  for (int64_t i = 0; i < gr_type_count(&t); i++)
    y[i] = (int32_t)gr_rng_below(&r, (uint64_t)i, VOCAB - 1);
  int32_t *frames = input_on_host(e, p, "lengths", &t);
  int32_t *symbols = input_on_host(e, p, "target_lengths", &t);
  float *weight = input_on_host(e, p, "weight", &t);
  for (int i = 0; i < BATCH; i++) frames[i] = FRAMES, symbols[i] = SYMBOLS, weight[i] = 1;
  *(float *)input_on_host(e, p, "lr", &t) = 1e-4F;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1, steps = argc > 2 ? atoi(argv[2]) : 5;
  double began = gr_seconds(), *wall = calloc((size_t)steps + 1, sizeof *wall),
         *cpu = calloc((size_t)steps + 1, sizeof *cpu);
  gr_arena *a = gr_arena_create();
  gr_dtype precision = argc < 4 || !strcmp(argv[3], "f32") ? GR_F32
                       : !strcmp(argv[3], "bf16")          ? GR_BF16
                                                           : GR_F16;
  gr_plan *p = plan(a, precision);
  gr_exec *e;
  gr_exec_options o = {.threads = threads, .profile = argc > 4};
  must(gr_exec_open(p, &o, &e));
  must(gr_exec_run(e, gr_plan_find(p, "init", "")));
  const gr_program *train = gr_plan_find(p, "train", "");
  double ready = gr_seconds() - began;
  for (int i = 0; i <= steps; i++) {
    fill(e, train);  // the arena is reused in every step, by inputs too
    double start = gr_seconds(), used = processor_seconds();
    must(gr_exec_run(e, train));
    wall[i] = gr_seconds() - start, cpu[i] = processor_seconds() - used;
  }
  printf(
      "%.4f s of processors a step, %.4f s of time (medians of %d, %d threads); %.3f s to the "
      "first step; %lld parameters\n",
      median_of(cpu + 1, steps), median_of(wall + 1, steps), steps, threads, ready,
      (long long)gr_plan_parameters(p, &(int64_t){0}));
  if (argc > 4) must(gr_exec_profile(stdout, e));
  gr_exec_close(e);
  gr_arena_destroy(a);
  free(wall);
  free(cpu);
  return 0;
}
