// multirun.c - see multirun.h. Every job is a process of its own, so that one that fails or is
// killed leaves the others alone.
#include "cli/multirun.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "compose/multirun.h"
#include "compose/schema.h"

typedef struct sweep {
  gr_arena *arena;
  gr_compose_request request;
  const char **overrides, **dirs;
  char **flags;  // passed on to every run
  int n_flags;
  long at_once;
  bool dry_run;
  gr_job_list jobs;
  const char **output;  // of each job
  pid_t *running;       // of each job; 0: not yet, or ended
  int failed;
  int first_code;
} sweep;

// ---- Arguments -------------------------------------------------------------------

static gr_status read_count(const char *text, long *out) {
  char *end;
  *out = text ? strtol(text, &end, 10) : 0;
  if (!text || *end || *out < 1 || *out > 1024)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--jobs takes a number from 1 to 1024, not '%s'",
                   text ? text : "");
  return GR_OK;
}

static gr_status read_flag(sweep *w, int argc, char **argv, int *i) {
  char *arg = argv[*i];
  if (!strcmp(arg, "-m") || !strcmp(arg, "--multirun")) return GR_OK;
  if (!strcmp(arg, "--dry-run")) {
    w->dry_run = true;
    return GR_OK;
  }
  if (!strncmp(arg, "--jobs=", 7)) return read_count(arg + 7, &w->at_once);
  if (!strcmp(arg, "--jobs")) return read_count(++*i < argc ? argv[*i] : NULL, &w->at_once);
  if (!strncmp(arg, "--config-dir=", 13)) w->dirs[w->request.n_config_dirs++] = arg + 13;
  w->flags[w->n_flags++] = arg;
  return GR_OK;
}

static gr_status read_arguments(sweep *w, int argc, char **argv) {
  w->overrides = GR_NEW(w->arena, const char *, argc + 1);
  w->dirs = GR_NEW(w->arena, const char *, argc + 1);
  w->flags = GR_NEW(w->arena, char *, argc + 1);
  w->at_once = 1;
  for (int i = 0; i < argc; i++) {
    bool word = !strchr(argv[i], '=') && argv[i][0] != '~';
    if (argv[i][0] == '-')
      GR_TRY(read_flag(w, argc, argv, &i));
    else if (!w->request.path && word && strcmp(argv[i], "train"))
      w->request.path = argv[i];
    else if (strcmp(argv[i], "train"))
      w->overrides[w->request.n_overrides++] = argv[i];
  }
  w->request.overrides = w->overrides, w->request.config_dirs = w->dirs;
  w->request.known = gr_schema_takes;
  if (w->request.path) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no configuration is given"),
                 "graphrun -m configs/multi_gpu.yaml training.lr=1e-3,2e-3");
}

// ---- Jobs ------------------------------------------------------------------------

// hydra.sweep.dir/subdir with this job's number.
static gr_status find_output(sweep *w, gr_composed *c, int job) {
  gr_conf *number = gr_conf_make(w->arena, GR_CONF_INT, GR_NOWHERE);
  gr_conf *of = c->hydra ? gr_conf_find(c->hydra, "job") : NULL;
  const char *dir = NULL, *subdir = NULL;
  number->integer = job;
  if (of && of->kind == GR_CONF_MAP) gr_conf_put(w->arena, of, "num", number);
  gr_conf *sweep_node = c->hydra ? gr_conf_find(c->hydra, "sweep") : NULL;
  if (sweep_node) {
    GR_TRY(gr_conf_resolve(w->arena, sweep_node));
    GR_TRY(gr_conf_text(sweep_node, "dir", NULL, &dir));
    const gr_conf *sub = gr_conf_find(sweep_node, "subdir");
    if (sub && sub->kind == GR_CONF_TEXT) subdir = sub->text;
  }
  if (!subdir) subdir = gr_arena_printf(w->arena, "%d", job);
  w->output[job] = gr_arena_printf(w->arena, "%s/%s", dir ? dir : "multirun", subdir);
  return GR_OK;
}

// Composes and checks every job before the first one runs.
static gr_status prepare(sweep *w) {
  gr_status all = GR_OK;
  GR_TRY(gr_multirun_list(w->arena, &w->request, &w->jobs));
  w->output = GR_NEW(w->arena, const char *, w->jobs.n + 1);
  w->running = GR_NEW(w->arena, pid_t, w->jobs.n + 1);
  for (int j = 0; j < w->jobs.n; j++) {
    gr_composed c;
    gr_compose_request q = w->request;
    q.overrides = w->jobs.overrides[j], q.n_overrides = w->jobs.n_each;
    gr_status s = gr_compose(w->arena, &q, &c);
    if (!s) s = find_output(w, &c, j);
    if (!s) s = gr_conf_resolve(w->arena, c.job);
    if (!s) s = gr_schema_check(w->arena, c.job);
    all = gr_also(all, gr_note(s, GR_NOWHERE, "in run %d of the sweep", j));
  }
  return all;
}

static void list_job(const sweep *w, int j) {
  printf("#%d: %s:", j, w->output[j]);
  for (int i = 0; i < w->jobs.n_each; i++) printf(" %s", w->jobs.overrides[j][i]);
  printf("\n");
  fflush(stdout);
}

// ---- Processes -------------------------------------------------------------------

static void run_job(const sweep *w, int j) {
  int n = 0;
  char **argv = GR_NEW(w->arena, char *, w->jobs.n_each + w->n_flags + 4);
  argv[n++] = "graphrun";
  argv[n++] = gr_arena_strdup(w->arena, w->request.path);
  for (int i = 0; i < w->jobs.n_each; i++)
    argv[n++] = gr_arena_strdup(w->arena, w->jobs.overrides[j][i]);
  argv[n++] = gr_arena_printf(w->arena, "++output.dir=\"%s\"", w->output[j]);
  for (int i = 0; i < w->n_flags; i++) argv[n++] = w->flags[i];
  execv("/proc/self/exe", argv);
  fprintf(stderr, "cannot start graphrun again: %s\n", strerror(errno));
  _exit(69);
}

static gr_status start_job(sweep *w, int j) {
  list_job(w, j);
  pid_t child = fork();
  if (child < 0)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot start run %d: %s", j, strerror(errno));
  if (!child) run_job(w, j);
  w->running[j] = child;
  return GR_OK;
}

static gr_status wait_for_one(sweep *w) {
  int state;
  pid_t child = wait(&state);
  if (child < 0 && errno == EINTR) return GR_OK;
  if (child < 0)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot wait for a run: %s", strerror(errno));
  for (int j = 0; j < w->jobs.n; j++) {
    if (w->running[j] != child) continue;
    w->running[j] = 0;
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (!code) continue;
    gr_log(GR_WARN, "run %d (%s) ended with code %d", j, w->output[j], code);
    if (!w->failed++) w->first_code = code;
  }
  return GR_OK;
}

static gr_status run_all(sweep *w) {
  int next = 0, ended = 0;
  while (ended < w->jobs.n) {
    while (next < w->jobs.n && next - ended < w->at_once) GR_TRY(start_job(w, next++));
    GR_TRY(wait_for_one(w));
    ended = 0;
    for (int j = 0; j < next; j++) ended += !w->running[j];
  }
  if (!w->failed) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d of %d runs failed, the first with code %d",
                         w->failed, w->jobs.n, w->first_code),
                 "each run's own message is above, and in its folder");
}

gr_status gr_cli_multirun(int argc, char **argv) {
  static gr_arena *kept;  // until the next call: errors keep pointers to places in it
  gr_arena_destroy(kept);
  kept = gr_arena_create();
  sweep w = {.arena = kept};
  GR_TRY(read_arguments(&w, argc, argv));
  GR_TRY(prepare(&w));
  if (!w.dry_run) return run_all(&w);
  for (int j = 0; j < w.jobs.n; j++) list_job(&w, j);
  return GR_OK;
}
