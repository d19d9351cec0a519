// multirun.c - see multirun.h. Every run is a process of its own, so that one that fails or is
// killed does not affect the others.
#define _GNU_SOURCE
#include "cli/multirun.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/work.h"
#include "cli/commands.h"
#include "cli/runs_table.h"
#include "cli/sweep.h"
#include "cli/trials/trials.h"
#include "compose/hydra/hydra.h"
#include "compose/override/override.h"
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
  gr_sweep_axes axes;
  gr_trials *trials;      // of a sweep that searches; NULL: it runs all combinations
  gr_job_list jobs;       // of a search: those of trials that have been proposed
  int next;               // the first job that has not been started
  const char *dir;        // folder of the sweep; NULL: it has none
  const char **output;    // output folder of each job
  const char **identity;  // of its configuration (identity.h)
  pid_t *running;         // process of each job; 0: not started, or ended
  sigset_t signals;       // signals to wait for: SIGCHLD, and those that request a stop
  gr_map said;            // the errors of configurations so far
  gr_map folders;         // of the jobs that have been composed
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
  bool continues = gr_conf_says(gr_conf_find(conf, "checkpoint.resume"), "auto");
  w->identity[j] = gr_identity_of_config(w->arena, conf);
  return continues ? check_folder(w, w->output[j], w->identity[j]) : GR_OK;
}

// ---- Jobs ------------------------------------------------------------------------

static void make_room(runs *w) {
  w->output = GR_NEW(w->arena, const char *, w->jobs.n + 1);
  w->identity = GR_NEW(w->arena, const char *, w->jobs.n + 1);
  w->running = GR_NEW(w->arena, pid_t, w->jobs.n + 1);
}

// Each run of a sweep has a folder of its own in that of the sweep.
static void warn_of_dir(const gr_conf *dir) {
  if (dir && dir->kind != GR_CONF_NULL)
    gr_log(GR_WARN, "%s:%d:%d: 'output.dir' has no effect in a sweep: hydra.sweep.dir has its runs",
           dir->loc.file, dir->loc.line, dir->loc.col);
}

// Composes and checks a configuration, and finds the folder of the sweep. What its run would refuse
// before it begins is said here, once for all runs that share it.
static gr_status compose(runs *w, const char **overrides, gr_composed *c, gr_conf **conf) {
  gr_compose_request q = w->request;
  q.overrides = overrides, q.n_overrides = gr_multirun_width(&w->axes);
  GR_TRY(gr_compose_checked(w->arena, &q, c, conf));
  if (!w->options->dry_run) GR_TRY(gr_job_check(w->arena, &w->args, *conf));
  if (!c->hydra || w->dir) return GR_OK;
  warn_of_dir(gr_conf_find(*conf, "output.dir"));
  return gr_hydra_sweep_dir(w->arena, c->hydra, &w->dir);
}

static gr_status prepare_job(runs *w, int j) {
  gr_composed c;
  gr_conf *conf;
  gr_status s = compose(w, w->jobs.overrides[j], &c, &conf);
  if (!s && c.hydra) s = gr_hydra_run_dir(w->arena, c.hydra, &w->output[j]);
  if (!w->output[j]) w->output[j] = gr_arena_printf(w->arena, "multirun/%d", j);
  if (!s) s = gr_sweep_folder(&w->folders, w->output[j], j);
  if (s && strstr(gr_status_text(s), "but is a list"))
    s = gr_hint(s, "the values of a sweep have no brackets: KEY=1,2,3");
  if (!s) s = identify(w, j, conf);
  return gr_note(s, GR_NOWHERE, "in run %d of the sweep", j);
}

// Adds an error, unless one with these words is there: what the runs share is an error of the
// first.
static gr_status also_once(runs *w, gr_status all, gr_status s) {
  uint32_t ignored;
  const char *hint = s ? gr_status_hint(s) : NULL;
  const char *words = gr_arena_printf(w->arena, "%d %s %s", gr_status_count(s), gr_status_text(s),
                                      hint ? hint : "");
  if (s && gr_map_find(&w->said, words, &ignored)) {
    gr_status_drop(s);
    return all;
  }
  if (s) gr_map_put(&w->said, words, 0);
  return gr_also(all, s);
}

// Composes and checks the configuration of every job before the first one starts.
static gr_status prepare_all(runs *w) {
  gr_status all = GR_OK;
  GR_TRY(gr_multirun_all(w->arena, &w->axes, &w->jobs));
  make_room(w);
  for (int j = 0; j < w->jobs.n; j++) all = also_once(w, all, prepare_job(w, j));
  return all;
}

// ---- Searches --------------------------------------------------------------------

// Checks configurations with the ends and the choices of every parameter, as trials are proposed
// only when others have ended. *out: the first of them.
static gr_status check_probes(runs *w, gr_conf **out) {
  gr_status all = GR_OK;
  for (int i = 0; i < gr_trials_probes(&w->axes); i++) {
    gr_composed c;
    gr_conf *conf = NULL;
    const char **lines = gr_trials_probe(w->arena, &w->axes, i);
    gr_status s = compose(w, gr_multirun_job(w->arena, &w->axes, lines, 0), &c, &conf);
    if (s && strstr(gr_status_text(s), "must be an integer"))
      s = gr_hint(s, "whole numbers are searched by int(interval(8, 64)) or range(8, 65)");
    s = gr_note(s, GR_NOWHERE, "in a trial with the %s of a parameter",
                i ? "last values" : "first values");
    all = also_once(w, all, s);
    if (!i) *out = conf;
  }
  return all;
}

static gr_status prepare_search(runs *w) {
  gr_conf *conf = NULL;
  gr_trials *t = w->trials = GR_NEW(w->arena, gr_trials, 1);
  GR_TRY(check_probes(w, &conf));
  // Again, because errors quote arguments by their numbers: these are the user's.
  GR_TRY(gr_multirun_axes(w->arena, &w->request, &w->axes));
  GR_TRY(gr_trials_open(t, w->arena, &w->axes, conf));
  if (!w->options->jobs && t->n_jobs) w->at_once = (long)t->n_jobs;
  t->at_once = (int)w->at_once;
  w->jobs = (gr_job_list){.base = w->axes.base, .n = t->n, .n_each = w->axes.n};
  w->jobs.n_all = gr_multirun_width(&w->axes);
  w->jobs.overrides = GR_NEW(w->arena, const char **, t->n + 1);
  make_room(w);
  gr_trials_print(t);
  return w->dir ? gr_trials_read(t, w->dir) : GR_OK;
}

static gr_status propose(runs *w, int j, bool *recorded) {
  const char **lines = gr_trials_propose(w->trials, j);
  w->jobs.overrides[j] = gr_multirun_job(w->arena, &w->axes, lines, j);
  GR_TRY(gr_trials_recorded(w->trials, w->dir, j, recorded));
  return prepare_job(w, j);
}

// The value by which the sweep's runs are ranked; NaN: there is none.
static gr_status measure(runs *w, int j, double *out) {
  gr_runs_table t = {.arena = w->arena};
  *out = NAN;
  GR_TRY(gr_runs_find(&t, w->output[j]));
  if (!t.n) return GR_OK;
  GR_TRY(gr_runs_rank(&t, NULL));
  *out = t.runs[0].best;
  if (!isfinite(*out)) gr_log(GR_WARN, "run %d has no value of '%s'", j, t.metric);
  return GR_OK;
}

// A run that a signal has stopped has not ended: the same command goes on with it.
static gr_status end_trial(runs *w, int j, int code) {
  double value = NAN;
  if (code && (w->stopped || code == gr_code_exit(GR_ERR_STOPPED))) return GR_OK;
  if (!code) GR_TRY(measure(w, j, &value));
  if (!code) GR_TRY(gr_trials_reach(w->trials, w->output[j], j));
  return gr_trials_end(w->trials, w->dir, j, isfinite(value) ? value : NAN);
}

static gr_status prepare(runs *w) {
  w->said = gr_map_make(w->arena), w->folders = gr_map_make(w->arena);
  GR_TRY(gr_multirun_axes(w->arena, &w->request, &w->axes));
  w->at_once = w->options->jobs ? (long)w->options->jobs : 1;
  GR_TRY(gr_hydra_check(w->arena, w->axes.base.hydra, true));
  bool searches = w->axes.base.hydra && gr_hydra_searches(w->axes.base.hydra);
  return searches ? prepare_search(w) : prepare_all(w);
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
  char **argv = GR_NEW(w->arena, char *, w->jobs.n_all + w->args.n_flags + 5);
  argv[n++] = "graphrun";
  argv[n++] = gr_arena_strdup(w->arena, w->request.path);
  for (int i = 0; i < w->jobs.n_all; i++)
    argv[n++] = gr_arena_strdup(w->arena, w->jobs.overrides[j][i]);
  argv[n++] = gr_override_of_text(w->arena, "++output.dir", w->output[j]);
  const char *stop = w->trials ? gr_trials_stop_unless(w->trials, j) : NULL;
  if (stop) argv[n++] = gr_arena_strdup(w->arena, stop);
  for (int i = 0; i < w->args.n_flags; i++) argv[n++] = w->args.flags[i];
  if (w->at_once > 1) setenv("TERM", "dumb", 1);  // no runs share a line of the terminal
  execv("/proc/self/exe", argv);
  fprintf(stderr, "cannot execute graphrun: %s\n", strerror(errno));
  _exit(69);
}

static gr_status start_job(runs *w, int j) {
  bool recorded = false;
  if (w->trials) GR_TRY(propose(w, j, &recorded));
  list_job(w, j);
  if (recorded) gr_work_add(gr_work_current(), 1);
  if (recorded) return GR_OK;
  pid_t child = fork();
  if (!child) sigprocmask(SIG_UNBLOCK, &w->signals, NULL);
  if (child < 0) return gr_fail_errno(GR_ERR_LAUNCH, errno, "cannot start run %d", j);
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

static gr_status end_job(runs *w, int j, int code) {
  w->running[j] = 0;
  gr_work_add(gr_work_current(), 1);
  if (code) {
    gr_log(GR_WARN, "run %d (%s) ended with code %d", j, w->output[j], code);
    if (!w->failed++) w->first_code = code;
  }
  return w->trials ? end_trial(w, j, code) : GR_OK;
}

static gr_status wait_for_one(runs *w) {
  int state;
  pid_t child;
  while (!(child = waitpid(-1, &state, WNOHANG))) {
    int number = sigtimedwait(&w->signals, NULL, &(struct timespec){.tv_sec = 1});
    if (number > 0 && number != SIGCHLD) stop(w);
  }
  if (child < 0) {
    for (int j = 0; j < w->next; j++) w->running[j] = 0;  // no process is left to wait for
    return gr_fail_errno(GR_ERR_LAUNCH, errno, "cannot wait for a run");
  }
  int code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  for (int j = 0; j < w->jobs.n; j++)
    if (w->running[j] == child) return end_job(w, j, code);
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

// How many of the first `n` jobs run.
static int running(const runs *w, int n) {
  int count = 0;
  for (int j = 0; j < n; j++) count += w->running[j] > 0;
  return count;
}

// A trial is proposed from all trials that are --jobs or more before it, so that the same command
// proposes the same trials, whichever end first.
static bool may_start(const runs *w) {
  if (w->stopped || w->next == w->jobs.n) return false;
  int before = w->next - (int)w->at_once + 1;
  return w->trials ? !running(w, before) : running(w, w->next) < w->at_once;
}

// After an error no more jobs start, and those that run are waited for.
static gr_status run_jobs(runs *w) {
  gr_status s = GR_OK;
  wait_for_signals(w);
  for (;;) {
    while (!s && may_start(w)) {
      s = start_job(w, w->next);
      if (!s) w->next++;
    }
    if (!running(w, w->next)) return s;
    s = gr_also(s, wait_for_one(w));
  }
}

// Shows how many have ended, in lines: on a terminal each run has the last line.
static gr_status run_shown(runs *w) {
  gr_work lines, work;
  gr_work_begin(&lines, GR_WORK_LINES, "runs", 0);
  gr_work_begin_items(&work, gr_arena_printf(w->arena, "%d runs", w->jobs.n), w->jobs.n);
  gr_status s = run_jobs(w);
  gr_work_end(&work), gr_work_end(&lines);
  return s;
}

static gr_status run_all(runs *w) {
  GR_TRY(run_shown(w));
  if (w->stopped)
    return gr_hint(
        gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal; %d of %d runs were not started",
                w->jobs.n - w->next, w->jobs.n),
        "each started run has printed above how to continue it");
  if (!w->failed) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%d of %d runs failed, the first with code %d",
                         w->failed, w->jobs.n, w->first_code),
                 "the message of each run is above, and in its folder if it has begun");
}

// Of a search, the trials that need no other one's value.
static gr_status list_jobs(runs *w) {
  int n = w->trials ? gr_trials_known(w->trials) : w->jobs.n;
  for (int j = 0; j < n; j++) {
    bool recorded;
    if (w->trials) GR_TRY(propose(w, j, &recorded));
    list_job(w, j);
  }
  if (n < w->jobs.n) printf("%d more depend on the values of these\n", w->jobs.n - n);
  return GR_OK;
}

static gr_status multirun(runs *w, int argc, char **argv) {
  GR_TRY(read_arguments(w, argc, argv));
  GR_TRY(prepare(w));
  if (w->options->dry_run) return list_jobs(w);
  gr_sweep_of_runs sweep = {w->arena, w->dir, &w->jobs, w->output, w->identity};
  GR_TRY(gr_sweep_begin(&sweep));
  gr_status ran = run_all(w);
  if (w->trials) w->jobs.n = w->next;  // no others have been proposed
  ran = gr_also(ran, gr_sweep_end(&sweep));
  if (w->trials) gr_trials_print_importance(w->trials);
  return ran;
}

gr_status gr_cli_multirun(int argc, char **argv) {
  runs w = {.arena = gr_arena_create()};
  gr_status s = multirun(&w, argc, argv);
  return gr_arena_end(w.arena, s);
}
