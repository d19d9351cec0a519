// bench_gpu.c - a training step as the product runs it, timed; tools/bench-gpu drives it.
//
//   bench_gpu machine                      the GPUs, as JSON
//   bench_gpu ceilings [MATRIX [MB]]       rates of copies and of matrix products
//   bench_gpu step CONFIG [key=value ...]  opens the run on one rank, makes one step and prints a
//   line
//                                          of JSON. Then for each number that is read, so many
//                                          steps and another line; ends with the input
#include "tests/bench/bench_gpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "job/job.h"
#include "ops/kernels/cpu.h"
#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"

void bench_must(gr_status s) {
  if (!s) return;
  fflush(stdout);
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

// A run without the training loop: its first batch is used in every step.
typedef struct bench {
  gr_job job;
  gr_exec *exec;
  gr_loader *loader;
  const gr_batch *batch;
  const gr_program *train;
  const gr_program_inputs *inputs;
  gr_exec_tensor input[GR_MAX_FIELDS + 4];
  double lr[1], uploading, launching;  // seconds that the host spent on both so far
} bench;

static void open_batch(bench *b) {
  const gr_run_spec *spec = &b->job.spec;
  gr_loader_spec of = {
      .split = GR_SPLIT_TRAIN, .batch = spec->set.options.batch.global, .ranks = 1, .prefetch = 1};
  bench_must(gr_loader_open(spec->data, &of, &b->loader));
  bench_must(gr_loader_next(b->loader, &b->batch));
  b->train = gr_plan_find(spec->plan, "train",
                          gr_dataset_bucket_name(b->job.arena, spec->data, b->batch->bucket));
  if (!b->train)
    bench_must(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                       "steps of one program are timed, so training.accumulate is 1"));
}

static void open_all(bench *b, int argc, char **argv) {
  gr_args args;
  gr_arena *arena = gr_arena_create();
  bench_must(gr_args_parse(arena, gr_commands, &gr_command_plan, argc, argv, 2, &args));
  bench_must(gr_job_compose(arena, &args, &b->job));
  bench_must(gr_job_plan(&b->job, 1));
  const gr_run_spec *spec = &b->job.spec;
  gr_exec_options o = {
      .device = spec->device, .threads = spec->set.ranks.threads_each, .profile = spec->profile};
  bench_must(gr_exec_open(spec->plan, &o, &b->exec));
  bench_must(gr_exec_run(b->exec, gr_plan_find(spec->plan, "init", "")));
  open_batch(b);
  b->inputs = &spec->inputs[b->train - spec->plan->programs];
  for (int i = 0; i < b->inputs->n; i++)
    b->input[i] = gr_exec_input(b->exec, b->train, b->inputs->items[i].name);
}

// The inputs are written in every step: the program uses their memory for other values.
static void step(bench *b) {
  double start = gr_seconds();
  for (int i = 0; i < b->inputs->n; i++) {
    const gr_program_input *in = &b->inputs->items[i];
    if (in->field == GR_INPUT_LR) gr_put(b->lr, in->type.dtype, 0, b->job.spec.set.loop.scaled_lr);
    const void *data = in->field == GR_INPUT_LR ? b->lr : b->batch->field[in->field].data;
    bench_must(gr_exec_write(b->exec, &b->input[i], data));
  }
  double uploaded = gr_seconds();
  bench_must(gr_exec_run(b->exec, b->train));
  b->uploading += uploaded - start, b->launching += gr_seconds() - uploaded;
}

static double read_number(bench *b, const char *name) {
  gr_exec_tensor t = gr_exec_result(b->exec, b->train, name);
  char cell[8];
  if (!t.address || t.bytes > sizeof cell) return (double)NAN;
  bench_must(gr_exec_read(b->exec, &t, cell));
  bench_must(gr_exec_wait(b->exec));
  return gr_get(cell, t.type.dtype, 0);
}

static double loss_of(bench *b) {
  return read_number(b, "metric.loss.sum") / read_number(b, "metric.loss.weight");
}

static void print_opened(bench *b, double began) {
  const gr_plan *p = b->job.spec.plan;
  const gr_device *d = gr_exec_device(b->exec);
  int64_t trained, all = gr_plan_parameters(p, &trained);
  gr_text report = gr_text_make(b->job.arena);
  double loss = loss_of(b), seconds = gr_seconds() - began;
  if (d->ops->report) d->ops->report(d, &report);
  printf(
      "{\"device\": \"%s\", \"parameters\": %lld, \"rows\": %d, \"flop\": %.6g, \"plan_mb\": %.1f, "
      "\"nodes\": %u, \"first_step_s\": %.4f, \"loss\": %.6g, \"report\": ",
      d->ops->name, (long long)all, b->batch->rows, (double)gr_graph_flops(b->train->frame.g),
      (double)gr_exec_bytes(b->exec) / 1e6, b->train->frame.g->n_nodes, seconds, loss);
  gr_text quoted = gr_text_make(b->job.arena);
  gr_text_json(&quoted, report.chars ? report.chars : "");
  printf("%s}\n", quoted.chars);
}

// Steps without the host waiting in between; the loss at their end waits for all of them.
static void run_round(bench *b, int steps) {
  b->uploading = b->launching = 0;
  double start = gr_seconds();
  for (int i = 0; i < steps; i++) step(b);
  double loss = loss_of(b), all = gr_seconds() - start;
  double used = b->job.spec.device->gpu ? bench_used_bytes() : 0;
  printf(
      "{\"steps\": %d, \"step_s\": %.6g, \"host_launch_s\": %.3g, \"host_upload_s\": %.3g, "
      "\"loss\": %.6g, \"gpu_used_mb\": %.1f}\n",
      steps, all / steps, b->launching / steps, b->uploading / steps, loss, used / 1e6);
}

static void time_steps(int argc, char **argv) {
  double began = gr_seconds();
  static bench b;
  int steps;
  open_all(&b, argc, argv);
  step(&b);
  print_opened(&b, began);
  fflush(stdout);
  while (scanf("%d", &steps) == 1 && steps > 0) {
    run_round(&b, steps);
    fflush(stdout);
  }
  gr_exec_close(b.exec);
  gr_loader_close(b.loader);
  gr_job_close(&b.job);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "machine"))
    bench_machine();
  else if (!strcmp(what, "ceilings"))
    bench_ceilings(argc > 2 ? atoi(argv[2]) : 8192, argc > 3 ? atoi(argv[3]) : 1024);
  else if (!strcmp(what, "step") && argc > 2)
    time_steps(argc, argv);
  else
    bench_must(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                "usage: bench_gpu machine | ceilings [MATRIX [MB]] | step CONFIG [key=value ...]"));
  return 0;
}
