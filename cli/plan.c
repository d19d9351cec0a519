// plan.c - `graphrun plan CONFIG.yaml`: compiles without running and prints the plan.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/output.h"
#include "cli/commands.h"
#include "cli/job/groups.h"
#include "cli/job/job.h"
#include "cli/job/memory.h"
#include "compiler/plan/prove.h"
#include "compiler/report/explain.h"

static gr_status write_dot(const gr_plan *p, const char *path) {
  const gr_program *drawn = gr_plan_drawn(p);
  gr_output *out;
  GR_TRY(gr_output_open(NULL, path, &out));
  if (drawn) gr_plan_dot(gr_output_stream(out), drawn);
  return gr_output_close(out, GR_OK);
}

static gr_status run_dot(const char *dot, const char *path, int to) {
  pid_t child = fork();
  if (child == 0) {
    if (dup2(to, STDOUT_FILENO) >= 0) execlp("dot", "dot", "-Tsvg", dot, (char *)NULL);
    _exit(127);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) >= 0 && WIFEXITED(status) && !WEXITSTATUS(status))
    return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "Graphviz's `dot` could not write '%s'", path),
                 "install graphviz; the graph is in '%s'", dot);
}

// Runs Graphviz's dot. If it is missing, the DOT file is kept.
static gr_status write_svg(const gr_plan *p, const char *path) {
  char dot[1024];
  gr_output *out;
  snprintf(dot, sizeof dot, "%s.dot", path);
  GR_TRY(write_dot(p, dot));
  GR_TRY(gr_output_open(NULL, path, &out));
  GR_TRY(gr_output_close(out, run_dot(dot, path, gr_output_fd(out))));
  unlink(dot);
  return GR_OK;
}

static gr_status write_drawings(const gr_job *j) {
  if (j->args.dot) GR_TRY(write_dot(j->spec.plan, j->args.dot));
  if (j->args.svg) GR_TRY(write_svg(j->spec.plan, j->args.svg));
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
  if (takes_batches(j->spec.plan)) printf(", global batch %d", s->batch);
  printf(s->micro_batches > 1 ? " in %d micro-steps\n" : "\n", s->micro_batches);
}

static gr_status plan(gr_job *j) {
  const char *lines[GR_JOB_DIFFERENCES];
  int ranks = gr_job_usual_ranks(j);
  GR_TRY(gr_job_plan(j, ranks));
  if (j->args.json) {
    gr_text t = gr_text_make(j->arena);
    gr_plan_json(&t, j->spec.plan);
    fputs(t.at, stdout);
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
  gr_groups_print(f, &j->spec.set, j->spec.plan);
  if (j->spec.plan->gpu) gr_plan_predict(f, j->spec.plan);
  gr_visible_end(&out);
  fflush(stdout);
  gr_job_print_memory(stderr, j, ranks);  // of this machine, where stdout is the same on all
  return write_drawings(j);
}

gr_status gr_cmd_plan(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_job job = {0};
  gr_status s = gr_args_parse(arena, argc, argv, 2, &args);
  s = s ? s : gr_job_compose(arena, &args, &job);
  s = s ? s : plan(&job);
  gr_job_close(&job);
  gr_arena_destroy(arena);
  return s;
}
