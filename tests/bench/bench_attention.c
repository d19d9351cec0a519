// bench_attention.c - time and memory of self-attention forward and backward, as one op and spelled
// out as products, softmax and dropout: batch 8, 8 heads of 64.
//
//   bench_attention [FRAMES [threads [steps [PRECISION [profile]]]]]    prints two lines, the
//   medians
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "compiler/compile.h"
#include "runtime/exec/exec.h"
#include "tests/on_host.h"
#include "tests/timing.h"

enum { BATCH = 8, HEADS = 8, WIDTH = 512 };

#define MODEL(ATTENTION)                                                 \
  "inputs: {x: {shape: [n, t, c]}, lengths: {shape: [n], dtype: i32}}\n" \
  "nodes:\n"                                                             \
  "  - w: {param: [c], init: ones, name: w}\n"                           \
  "  - z: {bias_add: [x, w]}\n"                                          \
  "  - q: {reshape: z, shape: [n, t, 8, c // 8]}\n"                      \
  "  - k: {scale: q, by: 2.0}\n"                                         \
  "  - v: {scale: q, by: 3.0}\n" ATTENTION                               \
  "  - y: {reshape: y, shape: [n, t, c]}\n"                              \
  "  - loss: {mse: [y, x]}\n"                                            \
  "train: loss\n"

static const char fused[] = MODEL("  - y: {attention: [q, k, v, lengths], p: 0.1}\n");
static const char spelled[] = MODEL(
    "  - q: {scale: q, by: 1 / 8}\n"
    "  - q: {transpose: q, perm: [0, 2, 1, 3]}\n"
    "  - k: {transpose: k, perm: [0, 2, 1, 3]}\n"
    "  - v: {transpose: v, perm: [0, 2, 1, 3]}\n"
    "  - a: {matmul: [q, k], tb: true}\n"
    "  - a: {softmax: [a, lengths]}\n"
    "  - a: {dropout: a, p: 0.1}\n"
    "  - y: {matmul: [a, v]}\n"
    "  - y: {transpose: y, perm: [0, 2, 1, 3]}\n");

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

static gr_plan *plan(gr_arena *a, const char *model, int64_t frames, gr_dtype precision) {
  gr_conf *graph;
  must(gr_conf_parse(a, "model.yaml", model, &graph));
  gr_dim dims[] = {{"n", BATCH}, {"t", frames}, {"c", WIDTH}};
  static const gr_bucket bucket = {.name = ""};
  gr_plan_request r = {.model = {.graph = graph,
                                 .dims = dims,
                                 .n_dims = 3,
                                 .seed = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "sgd", .precision.dtype = precision},
                       .buckets = &bucket,
                       .n_buckets = 1,
                       .train = true};
  gr_plan *p;
  must(gr_plan_build(a, &r, &p));
  return p;
}

static void fill(gr_exec *e, const gr_program *p, int64_t frames) {
  gr_type t;
  gr_rng r = gr_rng_make(1, "bench", 0);
  float *x = input_on_host(e, p, "x", &t);
  for (int64_t i = 0; i < gr_type_count(&t); i++) x[i] = (float)gr_rng_uniform(&r, (uint64_t)i);
  int32_t *length = input_on_host(e, p, "lengths", &t);
  float *weight = input_on_host(e, p, "weight", &t);
  for (int i = 0; i < BATCH; i++) length[i] = (int32_t)frames, weight[i] = 1;
  *(float *)input_on_host(e, p, "lr", &t) = 1e-4F;
}

typedef struct setting {
  int64_t frames;
  int threads, steps;
  gr_dtype precision;
  bool profile;
} setting;

static void measure(const char *name, const char *model, const setting *s) {
  double *took = calloc((size_t)s->steps + 1, sizeof *took),
         *spent = calloc((size_t)s->steps + 1, sizeof *spent);
  gr_arena *a = gr_arena_create();
  gr_plan *p = plan(a, model, s->frames, s->precision);
  gr_exec *e;
  must(gr_exec_open(p, &(gr_exec_options){.threads = s->threads, .profile = s->profile}, &e));
  must(gr_exec_run(e, gr_plan_find(p, "init", "")));
  const gr_program *train = gr_plan_find(p, "train", "");
  for (int i = 0; i <= s->steps; i++) {
    fill(e, train, s->frames);  // the arena is reused in every step, by inputs too
    double start = gr_seconds(), cpu = processor_seconds();
    must(gr_exec_run(e, train));
    took[i] = gr_seconds() - start, spent[i] = processor_seconds() - cpu;
  }
  sort_numbers(took + 1, s->steps);
  sort_numbers(spent + 1, s->steps);
  gr_type t;
  printf(
      "%-8s %.1f ms a step, %.1f of processor time (median of %d, best %.1f, %.1f; %d threads), "
      "arena %.1f MB, loss %.7g\n",
      name, 1e3 * took[1 + s->steps / 2], 1e3 * spent[1 + s->steps / 2], s->steps, 1e3 * took[1],
      1e3 * spent[1], s->threads, 1e-6 * (double)p->arena_bytes,
      (double)*(const float *)result_on_host(e, train, "metric.loss.sum", &t));
  if (s->profile) must(gr_exec_profile(stdout, e));
  gr_exec_close(e);
  gr_arena_destroy(a);
  free(took), free(spent);
}

int main(int argc, char **argv) {
  setting s = {argc > 1 ? atoi(argv[1]) : 500, argc > 2 ? atoi(argv[2]) : 1,
               argc > 3 ? atoi(argv[3]) : 5, .profile = argc > 5};
  s.precision = argc < 5 || !strcmp(argv[4], "f32") ? GR_F32
                : !strcmp(argv[4], "bf16")          ? GR_BF16
                                                    : GR_F16;
  measure("fused", fused, &s);
  measure("spelled", spelled, &s);
  return 0;
}
