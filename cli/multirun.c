// multirun.c - see multirun.h. Every run is a process of its own, so that one that fails or is
// killed does not affect the others.
#define _GNU_SOURCE
#include "cli/multirun.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/commands.h"
#include "cli/sweep.h"
#include "compose/hydra/hydra.h"
#include "compose/schema/schema.h"
#include "job/identity.h"
#include "job/samples_given.h"
#include "runtime/train/identity.h"

typedef struct runs {
  gr_arena *arena;
  gr_args args;
  gr_compose_request request;
  long at_once;
  const gr_sweep_options *options;  // flags of a sweep
  gr_job_list jobs;             // a run each, as Hydra calls them
  const char *dir;              // folder of the sweep; NULL: it has none
  const char **output;          // output folder of each job
  const char **identity;        // of its configuration (identity.h)
  pid_t *running;               // process of each job; 0: not started, or ended
  sigset_t signals;             // signals to wait for: SIGCHLD, and those that request a stop
  bool stopped;
  int failed;
  int first_code;
} runs;

// ---- Arguments -------------------------------------------------------------------

static gr_status read_arguments(runs *w, int argc, char **argv) {
  const gr_command *train = &gr_command_train;
  GR_TRY(gr_args_parse(w->arena, gr_commands, train, argc, argv, gr_args_first(train, argc, argv),
                       &w->args));
  w->options = w->args.options;
  w->at_once = w->options->jobs ? (long)w->options->jobs : 1;
  w->request = (gr_compose_request){.path = w->args.config,
                                    .config_dirs = w->args.config_dirs.list,
                                    .n_config_dirs = w->args.config_dirs.n,
                                    .overrides = w->args.overrides,
                                    .n_overrides = w->args.n_overrides,
                                    .known = gr_schema_takes};
  if (w->request.path)
    return w->args.config_dirs.n ? GR_OK : gr_samples_given("train", w->request.path);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no configuration is given"),
                 "graphrun -m configs/multi_gpu.yaml training.lr=1e-3,2e-3");
}

// ---- Identities ------------------------------------------------------------------
// A sweep that is started again goes on with the runs that its folder has. Where the configuration
// of one has changed, this says so before any run starts.

// Fails if the folder has a run of another configuration than this one.
static gr_status check_folder(runs *w, const char *dir, const char *identity) {
  const char *recorded;
  GR_TRY(gr_identity_read(w->arena, dir, &recorded));
  return recorded ? gr_identity_check(dir, NULL, recorded, identity, GR_IDENTITY_CONFIG) : GR_OK;
}

static gr_status identify(runs *w, int j, gr_conf *conf) {
  const gr_conf *resume = gr_conf_find(conf, "checkpoint.resume");
  bool continues = resume && resume->kind == GR_CONF_TEXT && !strcmp(resume->text, "auto");
  w->identity[j] = gr_identity_of_config(w->arena, conf);
  return continues ? check_folder(w, w->output[j], w->identity[j]) : GR_OK;
}

// ---- Jobs ------------------------------------------------------------------------

// Composes and checks the configuration of every job before the first one starts.
static gr_status prepare(runs *w) {
  gr_status all = GR_OK;
  GR_TRY(gr_multirun_list(w->arena, &w->request, &w->jobs));
  w->output = GR_NEW(w->arena, const char *, w->jobs.n + 1);
  w->identity = GR_NEW(w->arena, const char *, w->jobs.n + 1);
  w->running = GR_NEW(w->arena, pid_t, w->jobs.n + 1);
  for (int j = 0; j < w->jobs.n; j++) {
    gr_composed c;
    gr_conf *conf;
    gr_compose_request q = w->request;
    q.overrides = w->jobs.overrides[j], q.n_overrides = w->jobs.n_all;
    gr_status s = gr_compose_checked(w->arena, &q, &c, &conf);
    if (!s && c.hydra) s = gr_hydra_run_dir(w->arena, c.hydra, &w->output[j]);
    if (!s && c.hydra && !w->dir) s = gr_hydra_sweep_dir(w->arena, c.hydra, &w->dir);
    if (!w->output[j]) w->output[j] = gr_arena_printf(w->arena, "multirun/%d", j);
    if (!s) s = identify(w, j, conf);
    all = gr_also(all, gr_note(s, GR_NOWHERE, "in run %d of the sweep", j));
  }
  return all;
}

static void list_job(const runs *w, int j) {
  printf("#%d: %s:", j, w->output[j]);
  for (int i = 0; i < w->jobs.n_each; i++) printf(" %s", w->jobs.overrides[j][i]);
  printf("\n");
  fflush(stdout);
}

// ---- Processes -------------------------------------------------------------------

static void run_job(const runs *w, int j) {
  int n = 0;
  char **argv = GR_NEW(w->arena, char *, w->jobs.n_all + w->args.n_flags + 4);
  argv[n++] = "graphrun";
  argv[n++] = gr_arena_strdup(w->arena, w->request.path);
  for (int i = 0; i < w->jobs.n_all; i++)
    argv[n++] = gr_arena_strdup(w->arena, w->jobs.overrides[j][i]);
  argv[n++] = gr_arena_printf(w->arena, "++output.dir=\"%s\"", w->output[j]);
  for (int i = 0; i < w->args.n_flags; i++) argv[n++] = w->args.flags[i];
  execv("/proc/self/exe", argv);
  fprintf(stderr, "cannot execute graphrun: %s\n", strerror(errno));
  _exit(69);
}

static gr_status start_job(runs *w, int j) {
  list_job(w, j);
  pid_t child = fork();
  if (!child) sigprocmask(SIG_UNBLOCK, &w->signals, NULL);
  if (child < 0)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot start run %d: %s", j, strerror(errno));
  if (!child) run_job(w, j);
  w->running[j] = child;
  return GR_OK;
}

// Starts no more jobs, and signals the running ones, which save and end.
static void stop(runs *w) {
  w->stopped = true;
  for (int j = 0; j < w->jobs.n; j++)
    if (w->running[j] > 0) kill(w->running[j], SIGTERM);
}

static gr_status wait_for_one(runs *w) {
  int state;
  pid_t child;
  while (!(child = waitpid(-1, &state, WNOHANG))) {
    int number = sigtimedwait(&w->signals, NULL, &(struct timespec){.tv_sec = 1});
    if (number > 0 && number != SIGCHLD) stop(w);
  }
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

static void wait_for_signals(runs *w) {
  static const int some[] = {SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  struct sigaction hangup;
  sigemptyset(&w->signals);
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) sigaddset(&w->signals, some[i]);
  if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
    sigaddset(&w->signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &w->signals, NULL);
  signal(SIGPIPE, SIG_IGN);  // as in a single run
}

static gr_status run_all(runs *w) {
  int next = 0, ended = 0;
  wait_for_signals(w);
  while (ended < (w->stopped ? next : w->jobs.n)) {
    while (!w->stopped && next < w->jobs.n && next - ended < w->at_once)
      GR_TRY(start_job(w, next++));
    GR_TRY(wait_for_one(w));
    ended = 0;
    for (int j = 0; j < next; j++) ended += !w->running[j];
  }
  if (w->stopped)
    return gr_hint(
        gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal; %d of %d runs were not started",
                w->jobs.n - next, w->jobs.n),
        "each started run has printed above how to continue it");
  if (!w->failed) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d of %d runs failed, the first with code %d",
                         w->failed, w->jobs.n, w->first_code),
                 "the message of each run is above and in its folder");
}

static gr_status multirun(runs *w, int argc, char **argv) {
  GR_TRY(read_arguments(w, argc, argv));
  GR_TRY(prepare(w));
  for (int j = 0; w->options->dry_run && j < w->jobs.n; j++) list_job(w, j);
  if (w->options->dry_run) return GR_OK;
  gr_sweep_of_runs sweep = {w->arena, w->dir, &w->jobs, w->output, w->identity};
  GR_TRY(gr_sweep_begin(&sweep));
  gr_status ran = run_all(w);
  return gr_also(ran, gr_sweep_end(&sweep));
}

gr_status gr_cli_multirun(int argc, char **argv) {
  runs w = {.arena = gr_arena_create()};
  gr_status s = multirun(&w, argc, argv);
  gr_arena_destroy(w.arena);
  return s;
}
