// reference.c - what a run's model predicts of one batch, by graphrun itself: DIR/in.NAME.npy and
// DIR/out.NAME.npy, beside which an exported model is put to be compared (in_onnxruntime.py). The
// batch has training.batch_size samples; a program that has inputs of its own gets ROWS of random
// numbers, and of small integers.
//   reference RUN DIR PROGRAM ROWS [key=value ...]
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "job/job.h"
#include "job/kept.h"
#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "tests/onnx/npy.h"

enum { SMALL = 29 };  // random integers are below that

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

typedef struct reference {
  gr_arena *arena;
  gr_job job;
  gr_plan *plan;
  gr_exec *exec;
  const char *dir;
  bool given;  // the program's inputs are its own
} reference;

static void make_plan(reference *r, const char *name, int64_t n_rows) {
  gr_plan_request request;
  gr_model_program program;
  const gr_dim rows = {"n", n_rows};
  const gr_bucket one = {.name = "", .dims = &rows, .n_dims = 1};
  must(gr_job_request(&r->job, 1, &request));
  must(gr_model_program_read(r->arena, r->job.graph, name, &program));
  r->given = gr_model_program_inputs(r->job.graph, name);
  request.programs = &program, request.n_programs = 1;
  request.train = false;
  if (r->given) request.buckets = &one, request.n_buckets = 1;
  must(gr_plan_build(r->arena, &request, &r->plan));
}

static void load_states(reference *r, const char *run) {
  gr_checkpoint *c;
  gr_data_table tables[GR_MAX_TABLES];
  int n = gr_dataset_tables(r->job.spec.data, tables);
  must(gr_kept_checkpoint(r->arena, run, NULL, &c));
  for (uint32_t i = 0; i < r->plan->n_states; i++) {
    const gr_plan_state *s = &r->plan->states[i];
    gr_exec_tensor to = gr_exec_state(r->exec, s);
    void *copy = gr_arena_alloc(r->arena, to.bytes + 1);
    const char *dot = strrchr(s->name, '.');
    for (int k = 0; k < n && s->kind == GR_KIND_TABLE; k++)
      if (!strcmp(tables[k].name, dot ? dot + 1 : s->name)) memcpy(copy, tables[k].data, to.bytes);
    gr_tensor_slice slice = gr_tensor_slice_whole(s->name, gr_dtypes[s->global.dtype].name,
                                                  s->global.rank, s->global.dim, copy);
    if (s->kind != GR_KIND_TABLE) must(gr_checkpoint_read(c, &slice));
    must(gr_exec_write(r->exec, &to, copy));
    must(gr_exec_wait(r->exec));
  }
  const gr_scalar *data = gr_checkpoint_scalar(c, "run.data");
  if (data) must(gr_dataset_restore(r->job.spec.data, data->text));
  gr_checkpoint_close(c);
}

static void give(reference *r, const gr_program *p, const char *name, const gr_type *t,
                 const void *data) {
  gr_exec_tensor to = gr_exec_input(r->exec, p, name);
  if (!to.address) return;
  must(gr_exec_write(r->exec, &to, data));
  must(gr_exec_wait(r->exec));
  if (!npy_write(r->dir, "in.", name, t, data)) exit(1);
}

static const gr_program *give_batch(reference *r) {
  const gr_settings *set = &r->job.spec.set;
  const gr_loader_spec spec = {.split = gr_dataset_count(r->job.spec.data, GR_SPLIT_VALIDATION)
                                            ? GR_SPLIT_VALIDATION
                                            : GR_SPLIT_TRAIN,
                               .batch = set->options.batch.global,
                               .ranks = 1,
                               .epochs = 1,
                               .prefetch = 1};
  gr_loader *loader;
  const gr_batch *b;
  must(gr_loader_open(r->job.spec.data, &spec, &loader));
  must(gr_loader_next(loader, &b));
  const char *bucket = gr_dataset_bucket_name(r->arena, r->job.spec.data, b->bucket);
  const gr_program *p = r->plan->programs;
  while (strcmp(p->kind, "eval") || strcmp(p->bucket, bucket)) p++;
  for (int i = 0; i < b->n_fields; i++)
    give(r, p, b->field[i].name, &b->field[i].type, b->field[i].data);
  gr_loader_close(loader);
  return p;
}

static const gr_program *give_random(reference *r) {
  const gr_program *p = r->plan->programs;
  const gr_graph *g = p->frame.g;
  for (uint32_t v = 1; v < g->n_values; v++) {
    const gr_type *t = &g->values[v].type;
    if (g->values[v].role != GR_INPUT) continue;
    gr_rng rng = gr_rng_make(1, g->values[v].name, 0);
    float *x = gr_arena_alloc(r->arena, gr_type_bytes(t));
    for (int64_t i = 0; i < gr_type_count(t) && t->dtype == GR_F32; i++)
      x[i] = (float)gr_rng_normal(&rng, (uint64_t)i);
    for (int64_t i = 0; i < gr_type_count(t) && t->dtype == GR_I32; i++)
      ((int32_t *)x)[i] = (int32_t)gr_rng_below(&rng, (uint64_t)i, SMALL);
    give(r, p, g->values[v].name, t, x);
  }
  return p;
}

static void take_results(reference *r, const gr_program *p) {
  const gr_graph *g = p->frame.g;
  for (uint32_t i = 0; i < g->n_results; i++) {
    if (strncmp(g->result_names[i], "predict.", 8) != 0) continue;
    gr_exec_tensor result = gr_exec_result(r->exec, p, g->result_names[i]);
    void *data = gr_arena_alloc(r->arena, result.bytes + 1);
    must(gr_exec_read(r->exec, &result, data));
    must(gr_exec_wait(r->exec));
    if (!npy_write(r->dir, "out.", g->result_names[i] + 8, &result.type, data)) exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  gr_arena *arena = gr_arena_create();
  gr_args args = {.command = &gr_command_eval,
                  .config = argv[1],
                  .overrides = (const char **)argv + 5,
                  .n_overrides = argc - 5};
  reference r = {.arena = arena, .dir = argv[2]};
  must(gr_job_compose_kept(arena, &args, &r.job));
  make_plan(&r, argv[3], atoll(argv[4]));
  must(gr_exec_open(r.plan, &(gr_exec_options){.threads = 2}, &r.exec));
  load_states(&r, argv[1]);
  const gr_program *p = r.given ? give_random(&r) : give_batch(&r);
  must(gr_exec_run(r.exec, p));
  must(gr_exec_wait(r.exec));
  take_results(&r, p);
  gr_exec_close(r.exec);
  gr_job_close(&r.job);
  gr_arena_destroy(arena);
  return 0;
}
