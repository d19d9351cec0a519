// bench_video.c - step time of the 3-D convolutional network on made-up clips.
//
//   bench_video FRAMES SIZE FILTERS HIDDEN BATCH [threads [steps [profile]]]
//
// Prints one line: seconds a step, the median, of wall time and of processor time.
#include <stdlib.h>
#include "base/base.h"
#include "compiler/compile.h"
#include "runtime/exec/exec.h"
#include "tests/on_host.h"
#include "tests/timing.h"

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

static gr_plan *plan(gr_arena *a, char **size) {
  gr_conf *graph, *params;
  must(gr_conf_read(a, "graphs/cnn3d.yaml", &graph));
  must(gr_conf_parse(a, "<params>",
                     gr_arena_printf(a, "{filters: %s, hidden: %s}", size[2], size[3]), &params));
  gr_dim dims[] = {{"n", atoi(size[4])},
                   {"d", atoi(size[0])},
                   {"h", atoi(size[1])},
                   {"w", atoi(size[1])},
                   {"c", 1}};
  static const gr_bucket bucket = {.name = ""};
  gr_plan_request r = {.model = {.graph = graph,
                                 .params = params,
                                 .dims = dims,
                                 .n_dims = 5,
                                 .seed = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "adam", .optimizer.grad_clip = 1},
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
  uint8_t *x = input_on_host(e, p, "x", &t);
  for (int64_t i = 0; i < gr_type_count(&t); i++)
    x[i] = (uint8_t)gr_rng_below(&r, (uint64_t)i, 256);
  int32_t *y = input_on_host(e, p, "y", &t);
  float *weight = input_on_host(e, p, "weight", NULL),
        *of = input_on_host(e, p, "class_weight", NULL);
  for (int64_t i = 0; i < t.dim[0]; i++) y[i] = (int32_t)(i % 7), weight[i] = of[i] = 1;
  *(float *)input_on_host(e, p, "lr", &t) = 1e-3F;
}

int main(int argc, char **argv) {
  if (argc < 6) return fprintf(stderr, "bench_video FRAMES SIZE FILTERS HIDDEN BATCH ...\n"), 2;
  int threads = argc > 6 ? atoi(argv[6]) : 1, steps = argc > 7 ? atoi(argv[7]) : 5;
  double *wall = calloc((size_t)steps + 1, sizeof *wall),
         *cpu = calloc((size_t)steps + 1, sizeof *cpu);
  gr_arena *a = gr_arena_create();
  gr_plan *p = plan(a, argv + 1);
  gr_exec *e;
  must(gr_exec_open(p, &(gr_exec_options){.threads = threads, .profile = argc > 8}, &e));
  must(gr_exec_run(e, gr_plan_find(p, "init", "")));
  const gr_program *train = gr_plan_find(p, "train", "");
  for (int i = 0; i <= steps; i++) {
    fill(e, train);  // the arena is reused in every step, by inputs too
    double start = gr_seconds(), used = processor_seconds();
    must(gr_exec_run(e, train));
    wall[i] = gr_seconds() - start, cpu[i] = processor_seconds() - used;
  }
  printf(
      "%.4f s of processors a step, %.4f s of time (medians of %d, %d threads); %lld parameters\n",
      median_of(cpu + 1, steps), median_of(wall + 1, steps), steps, threads,
      (long long)gr_plan_parameters(p, &(int64_t){0}));
  if (argc > 8) must(gr_exec_profile(stdout, e));
  gr_exec_close(e);
  gr_arena_destroy(a);
  free(wall);
  free(cpu);
  return 0;
}
