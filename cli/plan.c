// plan.c - `graphrun plan CONFIG.yaml`: compiles without running and prints the plan.
#include <stddef.h>
#include <string.h>
#include "base/output.h"
#include "cli/commands.h"
#include "compiler/picture/picture.h"
#include "compiler/plan/prove.h"
#include "compiler/report/explain.h"
#include "job/job.h"
#include "job/memory.h"
#include "job/narrow_cost.h"
#include "job/parts.h"

typedef struct options {
  const char *dot, *svg, *expand;
} options;

static gr_status write_dot(const gr_plan *p, const char *path) {
  const gr_program *drawn = gr_plan_drawn(p);
  gr_output *out;
  GR_TRY(gr_output_open(NULL, path, &out));
  if (drawn) gr_plan_dot(gr_output_stream(out), drawn);
  return gr_output_close(out, GR_OK);
}

static gr_status write_svg(const gr_job *j, const options *flags) {
  gr_text drawn = gr_text_make(j->arena);
  gr_output *out;
  gr_picture_request request = {j->args.config, &flags->expand, flags->expand != NULL};
  GR_TRY(gr_plan_picture(&drawn, j->spec.plan, &request));
  GR_TRY(gr_output_open(NULL, flags->svg, &out));
  fputs(drawn.chars, gr_output_stream(out));
  return gr_output_close(out, GR_OK);
}

static gr_status write_drawings(const gr_job *j) {
  const options *flags = j->args.options;
  if (flags->dot) GR_TRY(write_dot(j->spec.plan, flags->dot));
  if (flags->expand && !flags->svg)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--expand is of the picture that --svg=FILE draws");
  if (flags->svg) GR_TRY(write_svg(j, flags));
  return GR_OK;
}

static bool takes_batches(const gr_plan *p) {
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (*p->programs[i].bucket) return true;
  return false;
}

static void print_head(const gr_job *j, int ranks) {
  const gr_settings *s = &j->spec.set;
  printf("plan of %s for %d rank%s", j->args.config, ranks, ranks > 1 ? "s" : "");
  if (takes_batches(j->spec.plan)) printf(", global batch %d", s->options.batch.global);
  printf(s->options.batch.micro_batches > 1 ? " in %d micro-steps\n" : "\n",
         s->options.batch.micro_batches);
}

static gr_status plan(gr_job *j) {
  const char *lines[GR_JOB_DIFFERENCES];
  int ranks = gr_job_usual_ranks(j);
  GR_TRY(gr_job_plan(j, ranks));
  if (j->args.json) {
    gr_text t = gr_text_make(j->arena);
    gr_plan_json(&t, j->spec.plan);
    fputs(t.chars, stdout);
    return write_drawings(j);
  }
  print_head(j, ranks);
  int n = gr_job_differences(j, ranks, j->spec.device->gpu, lines);
  for (int i = 0; i < n; i++) printf("note        %s\n", lines[i]);
  if (gr_job_guesses_gpus(j))
    printf(
        "note        distributed.ranks is auto: as many as there are GPUs, here planned for one; "
        "--ranks=N\n");
  gr_visible_out out;
  FILE *f = gr_visible_begin(&out);
  gr_plan_explain(f, j->spec.plan);
  gr_groups_print(f, &j->spec.set.options.optimizer, j->spec.plan);
  if (j->spec.plan->gpu) gr_plan_predict(f, j->spec.plan);
  gr_plan_certify(f, j->spec.plan);
  gr_visible_end(&out);
  fflush(stdout);
  // of this machine, where stdout is the same on all
  gr_text cost = gr_text_make(j->arena);
  if (gr_job_put_narrow_cost(&cost, j, ranks)) fprintf(stderr, "precision   %s\n", cost.chars);
  gr_job_print_memory(stderr, j, ranks);
  return write_drawings(j);
}

static gr_status compose_and_plan(gr_arena *arena, const gr_args *args) {
  gr_job job = {0};
  bool kept =
      args->config && gr_is_file(gr_arena_printf(arena, "%s/.hydra/config.yaml", args->config));
  gr_status s = (kept ? gr_job_compose_kept : gr_job_compose)(arena, args, &job);
  s = s ? s : plan(&job);
  gr_job_close(&job);
  return s;
}

static gr_status plan_run(int argc, char **argv) {
  return gr_command_parsed(&gr_command_plan, argc, argv, compose_and_plan);
}

static const gr_flag job_flags[] = {
    {"--ranks", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_args, ranks), "plans for so many ranks"},
    {0}};
static const gr_flag own_flags[] = {
    {"--dot", NULL, "FILE", GR_FLAG_TEXT, offsetof(options, dot),
     "draws the training step for graphviz"},
    {"--svg", NULL, "FILE", GR_FLAG_TEXT, offsetof(options, svg),
     "draws it, by blocks of the model"},
    {"--expand", NULL, "PATTERN", GR_FLAG_TEXT, offsetof(options, expand),
     "of --svg: draws every op of the blocks whose path matches"},
    {0}};

const gr_command gr_command_plan = {
    .name = "plan",
    .usage =
        "CONFIG.yaml|RUN [key=value ...] [--ranks=N] [--dot=FILE] [--svg=FILE] [--expand=PATTERN] "
        "[--dump=PASS] [--json]",
    .doc = "compile only: parameters, passes, memory, collectives, proof",
    .example = "graphrun plan configs/multi_gpu.yaml --ranks=8 distributed.strategy=fsdp",
    .keys =
        "model.graph training.batch_size training.accumulate distributed.strategy distributed.mesh "
        "distributed.layout distributed.fsdp.sharding_strategy",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config, gr_flags_compile, job_flags, gr_flags_json},
    .own_flags = own_flags,
    .plans = true,
    .options = sizeof(options),
    .run = plan_run,
};
