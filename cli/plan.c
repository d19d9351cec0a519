// plan.c - `graphrun plan CONFIG.yaml`: compiles without running and prints the plan.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "cli/commands.h"
#include "cli/plan_parts.h"
#include "cli/show_plot.h"
#include "compiler/picture/picture.h"
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"
#include "job/fit.h"
#include "job/memory.h"
#include "job/narrow_cost.h"
#include "job/parts.h"

static gr_status write_dot(const gr_plan *p, const char *path) {
  const gr_program *drawn = gr_plan_drawn(p);
  gr_output *out;
  GR_TRY(gr_output_open(NULL, path, &out));
  if (drawn) gr_plan_dot(gr_output_stream(out), drawn);
  return gr_output_close(out, GR_OK);
}

static gr_status write_svg(const gr_job *j, const gr_plan_flags *flags) {
  gr_text drawn = gr_text_make(j->arena);
  gr_output *out;
  gr_picture_request request = {j->args.config, &flags->expand, flags->expand != NULL};
  GR_TRY(gr_plan_picture(&drawn, j->spec.plan, &request));
  GR_TRY(gr_output_open(NULL, flags->svg, &out));
  fputs(drawn.chars, gr_output_stream(out));
  return gr_output_close(out, GR_OK);
}

static gr_status write_files(const gr_job *j, const gr_plan_figures *figures) {
  const gr_plan_flags *flags = j->args.options;
  if (flags->write) {
    gr_text t = gr_text_make(j->arena);
    gr_plan_json(&t, figures);
    GR_TRY(gr_output_write(NULL, flags->write, t.chars, t.len));
  }
  if (flags->dot) GR_TRY(write_dot(j->spec.plan, flags->dot));
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
  bool one = takes_batches(j->spec.plan) && !s->options.batch.global_of;
  if (one) printf(", global batch %d", s->options.batch.global);
  printf(s->options.batch.micro_batches > 1 ? " in %d micro-steps\n" : "\n",
         s->options.batch.micro_batches);
}

static void print_buckets(const gr_plan_use *use) {
  char bytes[32];
  for (int i = 0; i < use->n_buckets; i++) {
    const gr_bucket_figures *b = &use->buckets[i];
    printf("%s  %-10s %10d %12d   %s\n",
           i ? "" : "batches     samples a step  rows a rank   planned on a rank\n", b->name,
           b->samples, b->rows, gr_bytes_text(b->bytes, bytes));
  }
}

// Of weights that are gathered: which passes gather the next unit's beside the current unit.
static void print_prefetch(const gr_sharding_settings *o) {
  static const char *const beside[] = {"none: weights are gathered where they are used", "forward",
                                       "backward", "forward and backward"};
  if (o->ranks == 1 || o->n_rules == o->n_given) return;
  printf("prefetch    %s\n", beside[o->forward_prefetch + 2 * (o->prefetch != GR_PREFETCH_NONE)]);
}

static gr_status plan(gr_job *j) {
  const char *lines[GR_JOB_DIFFERENCES];
  int ranks = gr_job_usual_ranks(j);
  GR_TRY(gr_job_fit(j, ranks));
  const gr_plan_figures *figures = gr_job_count(j, NULL, 0);
  if (j->args.json) {
    gr_text t = gr_text_make(j->arena);
    gr_plan_json(&t, figures);
    fputs(t.chars, stdout);
    return write_files(j, figures);
  }
  print_head(j, ranks);
  int n = gr_job_differences(j, ranks, j->spec.device->gpu, lines);
  for (int i = 0; i < n; i++) printf("note        %s\n", lines[i]);
  if (j->fitted) printf("note        %s\n", j->fitted);
  print_prefetch(&j->spec.set.options.sharding);
  print_buckets(&figures->use);
  if (gr_job_guesses_gpus(j))
    printf(
        "note        distributed.ranks is auto: as many as there are GPUs, here planned for one; "
        "--ranks=N\n");
  gr_visible_out out;
  FILE *f = gr_visible_begin(&out);
  gr_plan_explain(f, figures);
  gr_groups_print(f, &j->spec.set.options.optimizer, j->spec.plan);
  if (j->spec.plan->gpu) gr_plan_predict(f, figures);
  gr_plan_certify(f, figures);
  gr_visible_end(&out);
  fflush(stdout);
  // of this machine, where stdout is the same on all
  gr_text cost = gr_text_make(j->arena);
  if (gr_job_put_narrow_cost(&cost, j, ranks)) fprintf(stderr, "precision   %s\n", cost.chars);
  gr_job_print_memory(stderr, j, ranks);
  return write_files(j, figures);
}

// ---- Numbers of ranks ---------------------------------------------------------------------------

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// "1,2,4" or "1..1024", which doubles; ascending.
static gr_status read_ranks(gr_arena *a, const char *text, int **out, int *n) {
  enum { MAX_DOUBLED = 20 };  // numbers up to GR_MAX_RANKS
  int *list = *out = GR_NEW(a, int, MAX_DOUBLED *(strlen(text) + 1));
  for (const char *next = text; text; text = next) {
    char *end;
    const char *word = text;
    long first = strtol(text, &end, 10), last = first;
    if (end > text && !strncmp(end, "..", 2)) last = strtol(text = end + 2, &end, 10);
    if (end == text || (*end && *end != ',') || first < 1 || last < first || last > GR_MAX_RANKS)
      return gr_hint(
          gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--ranks must be a number from 1 to %d, but is '%.*s'",
                  GR_MAX_RANKS, (int)strcspn(word, ","), word),
          "or several, for a table: --ranks=1,2,4 or --ranks=1..1024, which doubles");
    for (; first <= last; first *= 2) list[(*n)++] = (int)first;
    next = *end ? end + 1 : NULL;
  }
  qsort(list, (size_t)*n, sizeof *list, by_number);
  return GR_OK;
}

// ---- The command --------------------------------------------------------------------------------

static gr_status check_flags(const gr_args *args, bool table) {
  const gr_plan_flags *f = args->options;
  const char *graphs = args->dump ? "--dump" : args->stop_after ? "--stop-after" : NULL;
  const char *of_one = f->write ? "--write" : f->dot ? "--dot" : f->expand ? "--expand" : graphs;
  if (f->diff && (table || of_one || f->svg))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--diff compares two plans, and no table"),
                   "graphrun plan --diff A B [key=value ...] [--ranks=N] [--json]");
  GR_TRY(gr_show_check_path(f->svg));
  if (table && of_one)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s is of one plan, and this is a table", of_one),
        "without --device, --strategy and --cluster, and with one number of ranks");
  if (graphs && args->json)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s prints graphs, which are no JSON", graphs),
                   "without --json; or --write=FILE for the plan's JSON");
  if (f->expand && !f->svg)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--expand is of the picture that --svg=FILE draws");
  return GR_OK;
}

static gr_status compose_and_plan(gr_arena *arena, const gr_args *args) {
  const gr_plan_flags *flags = args->options;
  gr_args one = *args;
  gr_job job = {0};
  int *ranks = NULL, n = 0;
  if (flags->ranks) GR_TRY(read_ranks(arena, flags->ranks, &ranks, &n));
  bool table = gr_plan_is_table(flags, n);
  GR_TRY(check_flags(args, table));
  one.ranks = n == 1 ? ranks[0] : 0;
  one.counts = !one.json && !table;
  gr_arena_keep_blocks(GR_PLAN_KEPT_BYTES);  // to the end: the plan is counted and printed in them
  if (flags->diff) return gr_plan_compare(arena, &one, flags->diff);
  gr_status s = gr_job_compose_either(arena, &one, &job);
  if (!s) s = table ? gr_plan_table(&job, flags, ranks, n) : plan(&job);
  gr_job_close(&job);
  return s;
}

static const gr_flag own_flags[] = {
    {"--ranks", NULL, "N,...", GR_FLAG_TEXT, offsetof(gr_plan_flags, ranks),
     "plans for so many ranks; several (1,2,4 or 1..1024): a table of predictions"},
    {"--device", NULL, "NAME,...", GR_FLAG_TEXT, offsetof(gr_plan_flags, device),
     "of the table: a100, h100, h200, b200, 4090, cpu"},
    {"--strategy", NULL, "NAME,...", GR_FLAG_TEXT, offsetof(gr_plan_flags, strategy),
     "of the table: values of distributed.strategy"},
    {"--cluster", NULL, "FILE", GR_FLAG_TEXT, offsetof(gr_plan_flags, cluster),
     "of the table: YAML that describes machines and links (docs/planning.md)"},
    {"--write", NULL, "FILE", GR_FLAG_TEXT, offsetof(gr_plan_flags, write),
     "writes the plan's figures, for --diff"},
    {"--diff", NULL, "PLAN", GR_FLAG_TEXT, offsetof(gr_plan_flags, diff),
     "prints what differs from another plan: a file, a run, a configuration"},
    {"--dot", NULL, "FILE", GR_FLAG_TEXT, offsetof(gr_plan_flags, dot),
     "draws the training step for graphviz"},
    {"--svg", NULL, "FILE", GR_FLAG_TEXT, offsetof(gr_plan_flags, svg),
     "draws it, by blocks of the model; or the table's speed-up"},
    {"--expand", NULL, "PATTERN", GR_FLAG_TEXT, offsetof(gr_plan_flags, expand),
     "of --svg: draws every op of the blocks whose path matches"},
    {0}};

const gr_command gr_command_plan = {
    .name = "plan",
    .usage =
        "CONFIG.yaml|RUN [key=value ...] [--ranks=N,...] [--device=NAME,...] [--strategy=NAME,...] "
        "[--cluster=FILE] [--write=FILE] [--diff=PLAN] [--dot=FILE] [--svg=FILE] "
        "[--expand=PATTERN] [--dump=PASS] [--json]",
    .doc = "compile only: parameters, passes, memory, collectives, proof; tables, differences",
    .example = "graphrun plan configs/multi_gpu.yaml --ranks=8 distributed.strategy=fsdp",
    .keys =
        "model.graph training.batch_size training.accumulate distributed.strategy distributed.mesh "
        "distributed.layout distributed.fsdp.sharding_strategy cost.per_gpu_hour",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config, gr_flags_compile, gr_flags_json},
    .own_flags = own_flags,
    .plans = true,
    .options = sizeof(gr_plan_flags),
    .run = compose_and_plan,
};
